/// The destination of a response.
///
/// Its methods are called on the loop's thread, in order: the head at most once, pieces of the
/// body, the end exactly once. A sink may start and cancel transfers, because those calls only
/// post. If the loop was stopped before the transfer started, `finish` is called on the starting
/// thread instead.
package protocol CurlSink: AnyObject, Sendable {
    /// Takes the final response's head; informational responses are skipped.
    func receive(head: ResponseHead) -> SinkVerdict
    /// Takes the next bytes of the body, which are valid during the call only.
    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict
    /// Receives the outcome of the transfer; a success has a body of the announced length.
    func finish(_ result: Result<CurlSummary, CurlError>)
}
