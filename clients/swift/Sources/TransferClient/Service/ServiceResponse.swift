import TransferWire

/// A response of the service, with its whole body.
struct ServiceResponse: Sendable {
    let status: Int
    let body: [UInt8]
    private let head: TransportResponse

    init(_ head: TransportResponse, body: [UInt8]) {
        status = head.status
        self.head = head
        self.body = body
    }

    func header(_ name: String) -> String? { head.header(name) }

    /// The pause that `Retry-After` asks for; nil when it has none, or a date.
    ///
    /// No time is no pause: what is repeated without an end would be so at once each time.
    var retryAfter: Duration? {
        header("Retry-After").flatMap { Int64($0) }.flatMap { $0 > 0 ? Duration.seconds($0) : nil }
    }

    /// Returns the document in the body.
    func document<Document: Decodable>(
        _ type: Document.Type = Document.self
    ) throws(TransferError) -> Document {
        do {
            return try WireDecoder.decode(type, fromAnswer: body)
        } catch {
            throw TransferError(
                .unexpectedResponse,
                "The response is not the expected document: \(type)."
            )
        }
    }
}

extension TransferError {
    /// Describes a response that is not a success.
    init(_ response: ServiceResponse) {
        if let problem = try? response.document(ProblemDetails.self) {
            self.init(problem, retryAfter: response.retryAfter)
        } else {
            self.init(
                .unexpectedResponse,
                "The response with the status \(response.status) is not one of the service."
            )
            retryAfter = response.retryAfter
        }
        status = response.status
    }
}
