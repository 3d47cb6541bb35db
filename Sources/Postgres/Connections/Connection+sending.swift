internal import CLibPQ
import DequeModule
import PollLoop

extension Connection {
    /// Sends waiting segments, as far as the limit on segments in flight allows.
    func sendWaiting() {
        while let next = waiting.first, mayStart(next), let segment = waiting.popFirst() {
            guard send(segment) else {
                return end(.connectionLost, "the statements could not be sent")
            }
        }
        flush()
        armDeadline()
    }

    /// Returns whether a segment may start: a script needs the connection to itself.
    ///
    /// A script leaves pipeline mode.
    private func mayStart(_ segment: Segment) -> Bool {
        guard let oldest = inFlight.first else { return true }
        return !segment.isScript && !oldest.isScript
            && inFlight.count < configuration.segmentsInFlightMax
    }

    /// Hands a segment to libpq; false when libpq refuses, only on a broken connection.
    private func send(_ segment: Segment) -> Bool {
        guard let server = unsafe server else {
            // Nothing of it was sent, and the end of the connection tells its caller so.
            waiting.prepend(segment)
            return false
        }
        if segment.isLong, !isBusyForLong { process?.setYields(true) }
        segmentCount += 1
        var segment = segment
        segment.deadline = .now.advanced(by: segment.timeout)
        var isSent = true
        switch segment.work {
        case .queries(let queries):
            let preamble = preamble()
            segment.settingsCount = preamble.count
            for query in preamble + queries where isSent {
                isSent = unsafe send(query, of: &segment, to: server)
            }
            isSent = unsafe isSent && PQpipelineSync(server) == 1
        case .script(let sql):
            isSent = unsafe PQexitPipelineMode(server) == 1 && PQsendQuery(server, sql) == 1
        }
        inFlight.append(segment)
        return isSent
    }

    /// Whether a long segment is in flight.
    var isBusyForLong: Bool { inFlight.contains(where: \.isLong) }

    /// Returns the queries sent before the statements of a segment, in its transaction.
    private func preamble() -> [Query] {
        var queries: [Query] = []
        // The transaction does not undo it. Names are never used twice, so that it comes before
        // every use of a new name and after every use of an old one.
        if statements.takeLeftovers() { queries.append("DEALLOCATE ALL") }
        guard configuration.sharesSessions else { return queries }
        // The settings come too late for the level of a transaction that has begun, which a query
        // can no longer change. Elsewhere than in a block, `SET TRANSACTION` does the same with a
        // warning in the server's log (PostgreSQL manual, "transaction_isolation").
        queries.append("SET transaction_isolation = 'read committed'")
        queries.append(configuration.settingsQuery)
        return queries
    }

    private func send(
        _ query: Query,
        of segment: inout Segment,
        to server: OpaquePointer
    ) -> Bool {
        let key = StatementCache.Key(text: query.text, types: query.binds.map(\.type))
        let types = query.binds.map(\.type.rawValue)
        let count = Int32(query.binds.count)
        switch statements.use(key, inSegment: segmentCount) {
        case .named(let name):
            segment.steps.append(.execute(key, name: name))
            return unsafe send(query, name: name, to: server)
        case .prepare(let name):
            segment.steps.append(.prepare(key, name: name))
            segment.steps.append(.executeNew)
            return unsafe PQsendPrepare(server, name, query.sql, count, types) == 1
                && send(query, name: name, to: server)
        case .unnamed:
            segment.steps.append(.executeNew)
            let lengths = query.binds.map { Int32(clamping: $0.bytes?.count ?? 0) }
            let formats = [Int32](repeating: 1, count: query.binds.count)
            return unsafe query.values.withPointers { values in
                unsafe PQsendQueryParams(
                    server,
                    query.sql,
                    count,
                    types,
                    values,
                    lengths,
                    formats,
                    1
                ) == 1
            }
        }
    }

    private func send(_ query: Query, name: String, to server: OpaquePointer) -> Bool {
        let lengths = query.binds.map { Int32(clamping: $0.bytes?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: query.binds.count)
        return unsafe query.values.withPointers { values in
            unsafe PQsendQueryPrepared(
                server,
                name,
                Int32(query.binds.count),
                values,
                lengths,
                formats,
                1
            ) == 1
        }
    }

    /// Writes what libpq has buffered; the rest is written when the socket accepts more.
    func flush() {
        guard let server = unsafe server else { return }
        switch unsafe PQflush(server) {
        case 0: watch(.readable)
        // The server may wait for us to read before it reads more itself: watch for both.
        case 1: watch([.readable, .writable])
        default: end(.connectionLost, "the statements could not be sent")
        }
    }

    /// Sets the timer to the deadline of the oldest segment in flight.
    func armDeadline() {
        guard let deadline = inFlight.first?.deadline else { return }
        // A timer that fires early stays: it is then set again for the oldest segment at that
        // time. So the usual segment, answered in time, costs no timer of its own.
        if timer != nil, timerInstant <= deadline { return }
        cancelTimer()
        timerInstant = deadline
        timer = loop.schedule(after: deadline - .now) { [weak self] in
            self?.assumeIsolated { connection in
                connection.timer = nil
                connection.checkDeadline()
            }
        }
    }

    private func checkDeadline() {
        guard let deadline = inFlight.first?.deadline else { return }
        if deadline <= .now {
            end(.deadlineExceeded, "the server did not answer in time")
        } else {
            armDeadline()
        }
    }
}

extension Query {
    fileprivate var values: CStringTable {
        var table = CStringTable()
        for bind in binds { table.append(bind.bytes) }
        return table
    }
}
