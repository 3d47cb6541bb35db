import HTTPTypes
import Hummingbird
import NIOCore
import TransferStore
import TransferWire

/// The answer of a handler, before it becomes an HTTP response.
struct Answer: Sendable {
    let status: HTTPResponse.Status
    var location: String?
    var body: [UInt8] = []
    /// Whether this is an earlier answer, found by its idempotency key.
    var isReplay = false
    /// The entity tag of the document in the body.
    private(set) var etag: String?
    /// The form in which the body is kept, if that is another one.
    private var keptBody: [UInt8]?
    /// The preference of the request that was followed.
    var preferenceApplied: String?

    /// An answer with a JSON body.
    static func json(
        _ value: some Encodable,
        status: HTTPResponse.Status = .ok,
        location: String? = nil
    ) throws -> Answer {
        Answer(status: status, location: location, body: try WireEncoder.encode(value))
    }

    /// An answer with a document that can be changed under a condition.
    static func json(
        _ value: some Encodable,
        revision: Int32,
        status: HTTPResponse.Status = .ok,
        location: String? = nil
    ) throws -> Answer {
        var answer = try json(value, status: status, location: location)
        answer.etag = EntityTag.tag(revision: revision, of: answer.body)
        return answer
    }

    /// The answer to a submission; `isKept` whether it may be repeated.
    init(_ receipts: SubmissionReceipts, location: String? = nil, isKept: Bool) throws {
        self.init(status: .accepted, location: location, body: try receipts.body())
        // Not later, for until then the receipts would hold the client strings of all tasks.
        if isKept { keptBody = try receipts.kept() }
    }

    /// Repeats an earlier answer.
    init(replaying response: IdempotencyRecord.Response) throws {
        status = HTTPResponse.Status(code: response.status)
        location = response.location
        body = try SubmissionReceipts(kept: response.body)?.body() ?? response.body
        isReplay = true
    }

    init(status: HTTPResponse.Status, location: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.location = location
        self.body = body
    }

    /// The form in which the answer is kept under an idempotency key.
    var stored: IdempotencyRecord.Response {
        IdempotencyRecord.Response(status: status.code, location: location, body: keptBody ?? body)
    }
}

extension Answer: ResponseGenerator {
    private static let json = HTTPField(name: .contentType, value: "application/json")

    func response(from request: Request, context: some RequestContext) throws(Problem) -> Response {
        try RequestResources.current?.holdAnswer(
            ofBytes: body.count,
            isRepeatable: request.method == .get
        )
        var headers: HTTPFields = [:]
        if !body.isEmpty { headers.append(Self.json) }
        if let location { headers.append(HTTPField(name: .location, value: location)) }
        if let preferenceApplied { headers[.preferenceApplied] = preferenceApplied }
        if isReplay { headers[.idempotencyReplayed] = "true" }
        if let etag {
            headers[.eTag] = etag
            let known = request.method == .get ? request.headers.value(of: .ifNoneMatch) : nil
            if let known, EntityTag.lists(known, etag) {
                headers[.contentType] = nil
                return Response(status: .notModified, headers: headers)
            }
        }
        return Response(
            status: status,
            headers: headers,
            body: body.isEmpty ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: body))
        )
    }
}
