internal import CLibPQ
import EventLoop

extension Connection {
    /// Performs the handshake with the server and applies the settings.
    func connect() async throws(PostgresError) {
        let failure = await withCheckedContinuation { completion in
            state = .connecting(completion)
            startConnecting()
        }
        if let failure { throw failure }
        do throws(PostgresError) {
            _ = try await submit(
                .queries([configuration.settingsQuery]),
                timeout: configuration.connectTimeout
            )
        } catch {
            end(.connectionFailed, "the session could not be set up")
            throw PostgresError(
                .connectionFailed,
                "the session could not be set up",
                details: error.debugDescription,
                sqlState: error.sqlState
            )
        }
    }

    private func startConnecting() {
        // Also covers the time in which libpq does not look at a clock, such as a name lookup.
        timer = loop.schedule(after: configuration.connectTimeout) { [weak self] in
            self?.assumeIsolated { connection in
                connection.timer = nil
                connection.end(.connectionFailed, "the server did not answer in time")
            }
        }
        Handshake(configuration).start { [weak self, loop] result in
            loop.execute { [weak self] in
                // A session that comes too late is closed with the last reference to it.
                self?.assumeIsolated { $0.finishConnecting(result) }
            }
        }
    }

    private func finishConnecting(_ result: Result<OpenedSession, Handshake.Failure>) {
        guard case .connecting(let completion) = state else { return }
        cancelTimer()
        switch result {
        case .success(let session):
            let opened = unsafe session.take()
            unsafe server = unsafe opened
        case .failure(let failure):
            return end(.connectionFailed, failure.summary, details: failure.details)
        }
        guard let server = unsafe server,
            unsafe PQsetnonblocking(server, 1) == 0, unsafe PQenterPipelineMode(server) == 1
        else {
            return end(.connectionFailed, "the connection cannot be used without blocking")
        }
        watch(.readable)
        guard watched != nil else { return }
        state = .open
        completion.resume(returning: nil)
    }
}
