internal import CLibPQ
import EventLoop

extension Connection {
    /// Shakes hands with the server and applies the settings.
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
        var keywords = CStringTable()
        var values = CStringTable()
        for (keyword, value) in configuration.connectionParameters {
            keywords.append(keyword)
            values.append(value)
        }
        unsafe server = keywords.withPointers { keywords in
            unsafe values.withPointers { values in
                unsafe PQconnectStartParams(keywords, values, 1)
            }
        }
        guard let server = unsafe server, unsafe PQstatus(server) != CONNECTION_BAD else {
            return end(.connectionFailed, "the server cannot be reached")
        }
        // libpq prints the server's notices on the standard error otherwise.
        _ = unsafe PQsetNoticeReceiver(server, { _, _ in }, nil)
        timer = loop.schedule(after: configuration.connectTimeout) { [weak self] in
            self?.assumeIsolated { connection in
                connection.timer = nil
                connection.end(.connectionFailed, "the server did not answer in time")
            }
        }
        // The manual asks to begin as if the last poll had wanted to write.
        watch(.writable)
    }

    /// Goes on with the handshake once the socket is ready.
    func continueConnecting() {
        guard let server = unsafe server else { return }
        // The poll may close the socket and open another one, for the next address.
        unwatch()
        switch unsafe PQconnectPoll(server) {
        case PGRES_POLLING_READING: watch(.readable)
        case PGRES_POLLING_WRITING: watch(.writable)
        case PGRES_POLLING_OK: finishConnecting()
        default: end(.connectionFailed, "the server refused the connection")
        }
    }

    private func finishConnecting() {
        guard case .connecting(let completion) = state, let server = unsafe server else { return }
        cancelTimer()
        guard unsafe PQsetnonblocking(server, 1) == 0, unsafe PQenterPipelineMode(server) == 1
        else {
            return end(.connectionFailed, "the connection cannot be used without blocking")
        }
        watch(.readable)
        guard watched != nil else { return }
        state = .open
        completion.resume(returning: nil)
    }
}
