internal import CLibPQ
import DequeModule
import PollLoop

extension Connection {
    /// Watches the socket; ends the connection if that is impossible.
    func watch(_ interest: PollLoop.Readiness) {
        guard let server = unsafe server else { return }
        let descriptor = unsafe PQsocket(server)
        if let watched, watched == (descriptor, interest) { return }
        do throws(PollLoopError) {
            try loop.register(descriptor, for: interest) { [weak self] readiness in
                self?.assumeIsolated { $0.becameReady(readiness) }
            }
            watched = (descriptor, interest)
        } catch {
            let isOpening = if case .connecting = state { true } else { false }
            end(isOpening ? .connectionFailed : .connectionLost, "the socket cannot be watched")
        }
    }

    func unwatch() {
        if let watched { loop.deregister(watched.descriptor) }
        watched = nil
    }

    private func becameReady(_ readiness: PollLoop.Readiness) {
        switch state {
        // libpq moves all that is left to send each time it has sent some, reading or not.
        case .open, .closing: if readiness == .writable { flush() } else { receive() }
        case .connecting, .closed: break
        }
    }

    /// Reads the received data, ends the segments that it completes, and sends what may follow.
    private func receive() {
        guard let server = unsafe server else { return }
        let isAlive = unsafe PQconsumeInput(server) == 1
        unsafe takeResults(from: server)
        // A reaction to a result may have ended the connection.
        guard unsafe self.server != nil else { return }
        // After the results: only then does libpq find notifications that arrived between them.
        unsafe takeNotifications(from: server)
        guard isAlive, unsafe PQstatus(server) == CONNECTION_OK else {
            return end(.connectionLost, "the server closed the connection")
        }
        sendWaiting()
        endIfDrained()
    }

    private func takeNotifications(from server: OpaquePointer) {
        while let message = unsafe PQnotifies(server) {
            defer { unsafe PQfreemem(message) }
            notify.yield(
                Notification(
                    channel: unsafe String(cString: message.pointee.relname),
                    payload: unsafe String(cString: message.pointee.extra)
                )
            )
        }
    }

    /// Reads results as long as reading does not block.
    private func takeResults(from server: OpaquePointer) {
        // libpq ends the results of each command with one nil. Two in a row while more is due mean
        // that the two of us have lost count, and reading on would never end.
        var emptyCount = 0
        while unsafe self.server != nil, !inFlight.isEmpty, unsafe PQisBusy(server) == 0 {
            if let result = unsafe PQgetResult(server) {
                emptyCount = 0
                take(unsafe ResultHandle(result))
            } else {
                emptyCount += 1
                guard emptyCount <= 2 else {
                    return end(.connectionLost, "results are missing")
                }
                endStep()
            }
        }
    }

    private func take(_ result: ResultHandle) {
        switch result.status {
        case PGRES_PIPELINE_SYNC:
            complete()
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
            succeed(result)
        case PGRES_PIPELINE_ABORTED:
            forgetPreparation()
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
            end(.connectionLost, "COPY from or to the client is not supported")
        default:
            fail(result.error)
        }
    }

    private func succeed(_ result: ResultHandle) {
        inFlight.updateFirst { segment in
            segment.hasResult = true
            switch segment.step {
            case .prepare(let key, let name): statements.prepared(key, as: name)
            case .execute, .executeNew: segment.rows.append(Rows(result))
            // A script has no steps, and no use for rows.
            case nil: break
            }
        }
    }

    private func fail(_ error: PostgresError) {
        forgetPreparation()
        // 0A000: the result type of the plan was altered; 26000: the name no longer exists.
        let mayBeStale = error.sqlState == "0A000" || error.sqlState == "26000"
        inFlight.updateFirst { segment in
            if mayBeStale, case .execute(let key, let name)? = segment.step {
                segment.isStale = true
                statements.forgetAll(ifUsing: name, for: key)
            }
            segment.failure = segment.failure ?? error
        }
    }

    /// Forgets the statement that the current step was to prepare, because it does not exist.
    private func forgetPreparation() {
        inFlight.updateFirst { segment in
            segment.hasResult = true
            guard case .prepare(let key, let name)? = segment.step else { return }
            statements.forget(key, as: name)
        }
    }

    /// Ends the current step, as the results of its command are complete.
    private func endStep() {
        if inFlight.first?.isScript == true { return completeScript() }
        inFlight.updateFirst { segment in
            guard segment.hasResult else { return }
            segment.hasResult = false
            segment.stepIndex += 1
        }
    }

    private func completeScript() {
        guard let server = unsafe server else { return }
        guard unsafe PQstatus(server) == CONNECTION_OK, unsafe PQenterPipelineMode(server) == 1
        else {
            return end(.connectionLost, "the connection broke during a script")
        }
        complete()
    }

    private func complete() {
        guard let segment = inFlight.popFirst() else { return }
        // The server begins with the next one only now.
        inFlight.updateFirst { $0.deadline = .now.advanced(by: $0.timeout) }
        if segment.isLong, !isBusyForLong { process?.setYields(false) }
        if segment.isStale, !segment.isRepeated {
            // The caller need not know: another instance's migration is no failure.
            waiting.append(segment.repeated)
        } else {
            segment.completion.resume(returning: segment.outcome)
        }
    }
}

extension Connection {
    /// Closes the session and tells everybody who waits for it.
    ///
    /// The opening of the connection or the oldest segment in flight fails with `code`. The other
    /// segments in flight are lost, while those not yet sent have merely failed, as none in flight
    /// has. Without `details`, the text is libpq's.
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

    /// Gives the oldest segment in flight, if there is one, no more than `patience` from now on.
    func doubt(patience: Duration) {
        let latest = ContinuousClock.now.advanced(by: patience)
        inFlight.updateFirst { $0.deadline = min($0.deadline ?? latest, latest) }
        armDeadline()
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
        process = nil
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
        // What is in flight was sent, and must not be repeated as if it had not been.
        var code = code == .connectionFailed ? .connectionLost : code
        // The oldest segment has the server's last message, of which libpq may keep no text or tell
        // only of the socket.
        let last = inFlight.first?.failure.flatMap { $0.isEndOfSession ? $0.details : nil }
        let details = last ?? details
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

extension Deque {
    /// Changes the first element in place; does nothing when there is none.
    fileprivate mutating func updateFirst(_ change: (inout Element) -> Void) {
        if !isEmpty { change(&self[startIndex]) }
    }
}
