internal import CLibPQ
import EventLoop

extension Connection {
    /// Closes the session and tells everybody who waits for it.
    ///
    /// The opening of the connection or the oldest segment in flight fails with `code`. The other
    /// segments in flight are lost, while those not yet sent have merely failed. Without `details`,
    /// the text is libpq's.
    func end(_ code: PostgresError.Code, _ summary: String, details: String? = nil) {
        let details = details ?? serverMessage
        let ended = state
        state = .closed
        releaseServer()
        notify.finish()
        failSegments(code, summary, details: details)
        switch ended {
        case .connecting(let completion):
            completion.resume(returning: PostgresError(code, summary, details: details))
        case .open:
            onEnd()
        case .closing(let closers):
            for closer in closers { closer.resume() }
            onEnd()
        case .closed:
            break
        }
    }

    /// Closes the session if it is to be closed and no answer is due any more.
    func endIfDrained() {
        guard case .closing = state, inFlight.isEmpty, waiting.isEmpty else { return }
        end(.poolClosed, "the connection was closed")
    }

    /// Takes the socket out of the loop and closes it.
    func releaseServer() {
        cancelTimer()
        unwatch()
        if let server = unsafe server { unsafe PQfinish(server) }
        unsafe server = nil
    }

    func cancelTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private var serverMessage: String {
        guard let server = unsafe server, let message = unsafe PQerrorMessage(server) else {
            return ""
        }
        return unsafe String(cString: message)
    }

    private func failSegments(_ code: PostgresError.Code, _ summary: String, details: String) {
        var code = code
        while let segment = inFlight.popFirst() {
            // The server's last message, such as a shutdown, tells more than a closed socket.
            let known = segment.failure
            segment.completion.resume(
                returning: .failure(
                    PostgresError(
                        code,
                        summary,
                        details: known?.details ?? details,
                        sqlState: known?.sqlState
                    )
                )
            )
            code = .connectionLost
        }
        while let segment = waiting.popFirst() {
            segment.completion.resume(
                returning: .failure(PostgresError(.connectionFailed, summary, details: details))
            )
        }
    }
}
