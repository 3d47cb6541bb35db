/// Where a response goes.
///
/// Called on the loop's thread, in order: the head at most once, pieces of the body, the end
/// exactly once. A sink may start and cancel transfers, for those calls only post. When the loop
/// was stopped before the transfer began, `finish` is called on the starting thread instead.
package protocol CurlSink: AnyObject, Sendable {
    /// Takes the final response's head; informational responses are skipped.
    func receive(head: ResponseHead) -> SinkVerdict
    /// Takes the next bytes of the body, which are valid during the call only.
    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict
    /// Learns how the transfer ended; a success has a body of the announced length.
    func finish(_ result: Result<CurlSummary, CurlError>)
}
