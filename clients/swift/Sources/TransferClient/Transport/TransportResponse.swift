/// The start of a response, and its body as it arrives.
public struct TransportResponse: Sendable {
    /// The status.
    public let status: Int
    /// The header fields.
    public let headers: [(name: String, value: String)]
    /// The parts of the body, which throws ``TransportFailure`` when it breaks off.
    ///
    /// Each part is asked for once the one before has been used: whoever reads slowly slows the
    /// sender down.
    public let body: any AsyncSequence<[UInt8], any Error> & Sendable

    /// Creates a response.
    public init(
        status: Int,
        headers: [(name: String, value: String)],
        body: any AsyncSequence<[UInt8], any Error> & Sendable
    ) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns the value of a header field, whose name may be in any case.
    public func header(_ name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }
}
