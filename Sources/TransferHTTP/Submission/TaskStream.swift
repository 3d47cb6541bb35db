import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import TransferModel
import TransferStore
import TransferWire

/// A stream of tasks as lines of JSON, stored a part at a time and answered with lines too.
///
/// While a client's bytes arrive slowly, only the lines of one part are held: no connection, lock
/// or transaction of the database.
struct TaskStream: Sendable {
    static let mediaType = "application/x-ndjson"
    /// The time in which a client may take nothing of its answer before its connection is closed.
    static let writeTimeout: Duration = .seconds(60)

    /// The bytes of the answer that the kernel takes before the client does: many clients write all
    /// of their lines before they read one.
    static let unsentBytesMax: SocketOptionValue = 4 * 1024 * 1024

    let submitter: Submitter
    let session: SessionAddress
    let idempotency: PartIdempotency?
    let lines: TaskLines
    let key: KeyHold
    let context: APIContext
    private let resources: RequestResources?

    init(
        _ request: Request,
        to session: SessionAddress,
        by submitter: Submitter,
        _ key: KeyHold,
        _ context: APIContext
    )
        throws(Problem)
    {
        try request.checkMediaType(Self.mediaType)
        self.submitter = submitter
        self.session = session
        self.key = key
        self.context = context
        idempotency = try PartIdempotency(request)
        resources = RequestResources.current
        lines = TaskLines(request, share: resources?.body)
    }

    /// Returns the answer, which begins when the first part is stored.
    ///
    /// - Throws: the error that keeps the first part from being stored; an error of a later part is
    ///   reported in a line of the answer.
    func response() async throws -> Response {
        guard let part = try await lines.nextPart() else {
            throw Problem([FieldError(pointer: "", .noItems, "A body needs at least one task.")])
        }
        let first = try await store(part, number: 0)
        try await context.channel.setOption(.unsentBytesMax, value: Self.unsentBytesMax).get()
        var headers: HTTPFields = [.contentType: Self.mediaType, .accelBuffering: "no"]
        headers[.location] = APIPath.tasks(
            ofSession: session.identifier,
            of: session.client.nameInLinks
        )
        if first.isReplay { headers[.idempotencyReplayed] = "true" }
        return Response(
            status: first.status,
            headers: headers,
            body: ResponseBody { writer in
                try await send(first.body, to: &writer)
                var number = 1
                while let receipts = try await nextReceipts(number) {
                    try await send(receipts.bytes, to: &writer)
                    if receipts.isLast { break }
                    number += 1
                }
                try await writer.finish(nil)
            }
        )
    }

    /// Returns the answer lines for the next part, or the line that says why there are no more.
    private func nextReceipts(_ number: Int) async throws -> (bytes: [UInt8], isLast: Bool)? {
        do {
            guard let part = try await lines.nextPart() else { return nil }
            try key.check()
            guard !Task.isShuttingDownGracefully else {
                throw Problem(.unavailable, "The instance stops; send the rest to another one.")
            }
            return (try await store(part, number: number).body, false)
        } catch let error as HTTPParserError {
            throw error
        } catch {
            let problem = Problem(any: error)
            if !(error is Problem), problem.code.status >= 500 {
                context.logger.error(
                    "stream failed",
                    metadata: [
                        "request_id": "\(context.requestID)",
                        "error": "\(String(reflecting: error))",
                    ]
                )
            }
            let details = ProblemDetails(problem, requestID: context.requestID)
            return (try WireEncoder.encode(details) + [UInt8(ascii: "\n")], true)
        }
    }

    /// Stores all of a part or none.
    private func store(_ part: [TaskLines.Line], number: Int) async throws -> Answer {
        let byteCount = part.reduce(0) { $0 + $1.bytes.count }
        // The answer's body runs after the handler has returned, and needs to be given its
        // resources.
        return try await RequestResources.$current.withValue(resources) {
            // The next part is the client's to send.
            defer { resources?.pauseWork() }
            let key = try await idempotency?.key(ofPart: number, lines: part, byteCount)
            if let key,
                let answer = try await submitter.stores.idempotency.earlierAnswer(
                    key,
                    tenant: session.tenant
                )
            {
                return answer
            }
            return try await RequestResources.submitting(byteCount) {
                let (submissions, answer) = try await RequestResources.decoding(byteCount) {
                    let submissions = try Self.submissions(in: part)
                    let receipts = SubmissionReceipts(of: submissions, as: .lines, in: session)
                    return (submissions, try Answer(receipts, isKept: key != nil))
                }
                return try await submit(submissions, answer, part, key)
            }
        }
    }

    private static func submissions(in part: [TaskLines.Line]) throws(Problem) -> [TaskSubmission] {
        var maker = SubmissionMaker(count: part.count)
        for line in part {
            let task: Checked<TaskRequest>
            do throws(WireDecoder.Failure) {
                task = try Checked<TaskRequest>(json: line.bytes)
            } catch .malformed(WireDecoder.notJSON) {
                let rule = "Each line of this body is a task, without a line break in it."
                throw Problem(.malformedJSON, "\(WireDecoder.notJSON) \(rule)").inLine(line.number)
            } catch {
                throw Problem(error).inLine(line.number)
            }
            let errors = maker.take(task)
            guard errors.isEmpty else { throw Problem(errors).inLine(line.number) }
        }
        return maker.submissions
    }

    private func submit(
        _ submissions: [TaskSubmission],
        _ answer: Answer,
        _ part: [TaskLines.Line],
        _ key: IdempotencyKey?
    ) async throws -> Answer {
        try await submitter.submit(
            submissions,
            answer: answer,
            key: key,
            to: session,
            by: self.key.caller,
            line: { part[$0].number }
        ) { faults in
            Problem([faults[0].fault]).inLine(part[faults[0].index].number)
        }
    }

    /// Sends `bytes`, and returns when the client has room for more.
    private func send(_ bytes: [UInt8], to writer: inout any ResponseBodyWriter) async throws {
        let channel = context.channel
        // A write to a client that has stopped reading would never return.
        let timer = channel.eventLoop.scheduleTask(in: TimeAmount(Self.writeTimeout)) {
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        try await writer.write(ByteBuffer(bytes: bytes))
    }
}
