import Synchronization
import TransferClient
import TransferWire

/// A transport that answers as a test says, and remembers what was asked.
final class ScriptedTransport: TransferTransport {
    typealias Responder =
        @Sendable (TransportRequest) async throws(TransportFailure)
        -> TransportResponse

    private let responder: Responder
    private let seen = Mutex<[TransportRequest]>([])

    init(_ responder: @escaping Responder) { self.responder = responder }

    /// The requests so far.
    var requests: [TransportRequest] { seen.withLock { $0 } }

    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportResponse {
        seen.withLock { $0.append(request) }
        return try await responder(request)
    }

    /// A service that this transport stands in for, which repeats without long pauses.
    func service(attemptsMax: Int = 4) -> TransferService {
        var service = TransferService(url: "http://service/", apiKey: "key", transport: self)
        service.retryPolicy = RetryPolicy(
            attemptsMax: attemptsMax,
            delayBase: .milliseconds(1),
            delayMax: .milliseconds(2)
        )
        return service
    }
}

extension TransportRequest {
    /// The value of a header field.
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The body as text.
    var text: String {
        if case .bytes(let bytes) = body { String(decoding: bytes, as: UTF8.self) } else { "" }
    }

    /// The path and query.
    var target: String { String(url.dropFirst("http://service".count)) }
}

extension TransportResponse {
    /// A response with these parts, which breaks off with `failure` if there is one.
    init(
        _ status: Int = 200,
        _ parts: [String] = [],
        headers: [(name: String, value: String)] = [],
        failure: TransportFailure? = nil
    ) {
        let body = AsyncThrowingStream<[UInt8], any Error> { continuation in
            for part in parts { continuation.yield(Array(part.utf8)) }
            continuation.finish(throwing: failure)
        }
        self.init(status: status, headers: headers, body: body)
    }

    /// A response with a problem.
    static func problem(
        _ code: ProblemDetails.Code,
        errors: [FieldError] = [],
        oldestSequence: Int64? = nil
    ) -> Self {
        let problem = ProblemDetails(
            code,
            detail: nil,
            errors: errors,
            oldestSequence: oldestSequence,
            requestID: "r"
        )
        let body = (try? WireEncoder.encode(problem)) ?? []
        return Self(problem.status, [String(decoding: body, as: UTF8.self)])
    }
}
