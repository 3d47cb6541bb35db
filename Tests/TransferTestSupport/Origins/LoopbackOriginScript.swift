/// The actions of an origin for one request, step by step.
///
/// After the last step, the connection is kept for the next request.
package struct OriginScript: Sendable {
    /// One step.
    package enum Step: Sendable {
        /// Sends a status line and fields, ended by an empty line.
        case head(_ status: Int, [(name: String, value: String)] = [])
        /// Sends bytes unchanged.
        case raw([UInt8])
        /// Sends part of a body, or all of it.
        case body(OriginBody, Range<Int>? = nil)
        /// Sends a body in the chunked coding; without `isEnded` the last chunk is missing.
        case chunks(OriginBody, size: Int, isEnded: Bool = true)
        /// Waits until the gate opens, the peer closes or the origin stops.
        case wait(OriginGate)
        /// Waits until the peer's kernel has all bytes that were sent, read or not.
        case acknowledged
        /// Sends the bytes again and again until the peer closes.
        case forever([UInt8])
        /// Closes the connection in order (FIN).
        case close
        /// Closes the connection with a reset (RST).
        case reset
    }

    /// The steps in order.
    package var steps: [Step]

    /// Creates a script from any steps.
    package init(_ steps: [Step]) { self.steps = steps }

    /// Returns a whole response with its `Content-Length`.
    package static func response(
        _ status: Int = 200,
        headers: [(name: String, value: String)] = [],
        body: OriginBody = .empty
    ) -> OriginScript {
        OriginScript([.head(status, headers + [contentLength(body.count)]), .body(body)])
    }

    /// Returns a redirection without a body.
    package static func redirect(_ status: Int = 302, to location: String) -> OriginScript {
        response(status, headers: [("Location", location)])
    }

    /// Returns a text sent unchanged, followed by the end of the connection.
    package static func raw(_ text: String) -> OriginScript {
        OriginScript([.raw(Array(text.utf8)), .close])
    }

    /// Returns a head with the full length, then only `sent` bytes of the body, then the step
    /// `end`.
    package static func cut(_ body: OriginBody, after sent: Int, _ end: Step) -> OriginScript {
        OriginScript([.head(200, [contentLength(body.count)]), .body(body, 0..<sent), end])
    }

    /// Returns a response that stops after `sent` bytes of its body until the gate opens.
    package static func gated(
        _ body: OriginBody,
        after sent: Int,
        _ gate: OriginGate,
        headers: [(name: String, value: String)] = []
    ) -> OriginScript {
        OriginScript([
            .head(200, headers + [contentLength(body.count)]), .body(body, 0..<sent), .wait(gate),
            .body(body, sent..<body.count),
        ])
    }

    /// Returns a response whose body ends with the connection and has no length.
    package static func closeDelimited(_ body: OriginBody) -> OriginScript {
        OriginScript([.head(200, [("Connection", "close")]), .body(body), .close])
    }

    /// Returns a file with a strong validator, as a good origin serves it.
    ///
    /// `Range` with `If-Range` gives 206, 416 or, when the validator is another, the whole file.
    package static func file(
        _ body: OriginBody,
        etag: String,
        for request: OriginRequest,
        pause: (after: Int, gate: OriginGate)? = nil
    ) -> OriginScript {
        let range = request.range(of: body.count, etag: etag)
        let fields = [("Accept-Ranges", "bytes"), ("ETag", etag)]
        guard let range else {
            return response(416, headers: [("Content-Range", "bytes */\(body.count)")])
        }
        var head = fields + [contentLength(range.count)]
        if request["Range"] != nil, range.count < body.count {
            head.append(
                ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)")
            )
        }
        let status = head.contains { $0.0 == "Content-Range" } ? 206 : 200
        guard let pause, range.contains(range.lowerBound + pause.after), request.method != "HEAD"
        else {
            return OriginScript(
                [.head(status, head)] + (request.method == "HEAD" ? [] : [.body(body, range)])
            )
        }
        let middle = range.lowerBound + pause.after
        return OriginScript([
            .head(status, head), .body(body, range.lowerBound..<middle), .wait(pause.gate),
            .body(body, middle..<range.upperBound),
        ])
    }

    private static func contentLength(_ count: Int) -> (name: String, value: String) {
        ("Content-Length", String(count))
    }
}
