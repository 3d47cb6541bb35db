/// The destination of a response.
///
/// Its methods are called on the loop's thread, in order: heads of informational responses, the
/// head at most once, pieces of the body, the end exactly once. A sink may start and cancel
/// transfers, because those calls only post. If the loop was stopped before the transfer started,
/// `finish` is called on the starting thread instead.
package protocol CurlSink: AnyObject, Sendable {
    /// Takes the head of an informational response (RFC 9110, section 15.2), of which any number
    /// may come, also while the body is sent; `100` among them.
    func receive(informational head: ResponseHead)
    /// Takes the final response's head.
    func receive(head: ResponseHead) -> SinkVerdict
    /// Takes the next bytes of the body, which are valid during the call only.
    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict
    /// Whether it may get several pieces of the body as one, of 256 KiB at most, soon after they
    /// came.
    ///
    /// Such a sink cannot put a piece off: ``SinkVerdict/later`` counts as `abort`.
    var takesLargePieces: Bool { get }
    /// Receives the outcome of the transfer; a success has a body of the announced length.
    func finish(_ result: Result<CurlSummary, CurlError>)
}

extension CurlSink {
    /// Whether it may get several pieces as one: not unless it says so.
    package var takesLargePieces: Bool { false }

    /// Does nothing: few requests have a use for informational responses.
    package func receive(informational head: ResponseHead) {}
}
