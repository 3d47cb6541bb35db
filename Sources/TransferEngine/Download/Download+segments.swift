import Curl
import Synchronization
import TransferContainer
import TransferModel

/// The use of several connections to fetch one file.
extension Download {
    /// Lets other connections join the one whose response starts with `head`, if that may pay off.
    ///
    /// A file that an earlier attempt has fetched in segments is always resumed in segments.
    func beginSegments(_ head: ResponseHead, _ state: inout State) {
        guard let part = state.part, let identity = state.identity else { return }
        let mayDivide = isTold(part) && mayBeDivided(head, identity.validator, state)
        guard mayDivide || part.isSegmented else { return }
        let connectionsMax = claim.options.segmentsMax ?? TransferOptions.segmentsMaxDefault
        state.segments = Segments(
            etag: identity.validator.value,
            coding: identity.coding,
            total: identity.total,
            written: part.written,
            range: state.machine.resumePoint?.range ?? 0..<identity.total,
            connectionsMax: mayDivide ? connectionsMax : 1,
            triesAll: claim.options.segmentsMax != nil,
            settings: configuration.segments,
            latency: .now - state.startedAt - state.metrics.fetchStart,
            at: .now
        )
    }

    /// Whether what is stored of the file tells of its bytes even when its size says nothing any
    /// more.
    ///
    /// It does not after a kill before which the file could not be divided. If the file could be
    /// divided now, and its worker were killed once more before it has stored the ranges, all of it
    /// would be lost.
    private func isTold(_ part: PartFile) -> Bool {
        guard let partial = claim.partial, partial.partFence == part.fence else { return true }
        return partial.ranges != nil || part.isSegmented
            || partial.bytesDurable >= part.bytesWritten
    }

    /// Whether the origin promises to send parts of this very file.
    private func mayBeDivided(
        _ head: ResponseHead,
        _ validator: EntityValidator,
        _ state: State
    ) -> Bool {
        guard state.isPlainGET, validator.isEntityTag,
            // A client's conditional request must not be asked in another form.
            !claim.headers.contains(where: { $0.name.lowercased().hasPrefix("if-") })
        else { return false }
        switch head.status {
        case 206: return true
        case 200: return head["Accept-Ranges"]?.lowercased() == "bytes"
        default: return false
        }
    }

    /// Checks the answer to the request for a part.
    func accept(
        _ head: ResponseHead,
        on connection: Int,
        _ state: inout State
    ) -> SinkVerdict {
        state.segments?.accepts(head, on: connection) == true ? .proceed : .abort
    }

    /// Writes the bytes of a connection where they belong, and none beyond the end of its segment.
    func write(
        _ body: UnsafeRawBufferPointer,
        on connection: Int,
        to part: PartFile,
        _ state: inout State
    ) throws(StorageError) -> SinkVerdict {
        var rest = body[...]
        while !rest.isEmpty {
            guard let place = state.segments?.place(of: connection), place.room > 0 else {
                return .abort
            }
            let bytes = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(clamping: place.room)))
            try part.write(bytes, at: place.offset)
            rest = rest.dropFirst(bytes.count)
            let isCut = state.segments?.advance(connection, by: Int64(bytes.count)) ?? true
            guard !isCut else { return .abort }
        }
        return .proceed
    }

    /// Returns how the number of connections should change, now that bytes have arrived.
    func adjust(_ state: inout State) -> Segments.Adjustment? {
        state.segments?.adjust(bytes: state.bytesReceived, at: .now)
    }

    func apply(_ adjustment: Segments.Adjustment) {
        for connection in adjustment.stops { connections.cancel(connection) }
        for _ in 0..<adjustment.joins where !join() { return }
    }

    /// Starts another connection, if there is a slot for it.
    private func join() -> Bool {
        guard active.takeConnection(for: claim.fence) else { return false }
        let assignment = state.withLock { state -> Segments.Assignment? in
            guard !connections.isAbandoned, isReadyForSegments(&state) else { return nil }
            return state.segments?.join()
        }
        guard let assignment else {
            active.returnConnection(of: claim.fence)
            return false
        }
        fetch(assignment)
        return true
    }

    private func isReadyForSegments(_ state: inout State) -> Bool {
        guard let part = state.part, let identity = state.identity else { return false }
        do throws(StorageError) {
            guard try part.beginSegments(total: identity.total) else {
                state.segments?.limit()
                return false
            }
            return true
        } catch {
            fail(error, &state)
            return false
        }
    }

    /// Requests a part of the file.
    private func fetch(_ assignment: Segments.Assignment) {
        let request = state.withLock { state in
            state.metrics.connections = state.segments?.peak ?? 1
            var request = plainRequest(state)
            request.headers += [
                ("Range", assignment.range.field(total: nil)),
                ("If-Match", state.segments?.etag ?? ""),
            ]
            return request
        }
        connections.start(
            request,
            as: assignment.connection,
            sink: assignment.connection == Segments.lead
                ? self : SegmentConnection(assignment.connection, of: self)
        )
    }

    /// Handles the end of a connection, successful or not.
    func ended(_ connection: Int, _ result: Result<CurlSummary, CurlError>) {
        let step = state.withLock { state in
            heedAbandonment(&state)
            if connection == Segments.lead { state.isLeadDone = state.segments != nil }
            return state.segments?.ended(connection, result)
        }
        switch step {
        case nil: settle(result)
        case .fetch(let assignment): fetch(assignment)
        case .leave: leave(connection)
        case .stop:
            connections.cancelAll()
            leave(connection)
        case .over(let outcome): settle(state.withLock { conclude(outcome, &$0) })
        }
    }

    /// Returns the result of all connections together, as if there had been one.
    private func conclude(
        _ outcome: Segments.Outcome,
        _ state: inout State
    ) -> Result<CurlSummary, CurlError> {
        switch outcome {
        case .whole(var summary):
            // Each byte comes from a response that has said which bytes it brings.
            summary.isLengthVerified = true
            return .success(summary)
        case .failed(let error):
            if let refusal = state.segments?.refusal {
                state.machine.failed(meaning(ofRefusal: refusal, state))
            }
            return .failure(error)
        case .changed:
            // Not restarted here: a file of that name was announced with the old validator.
            state.identity = nil
            state.machine.failed(
                TransferFailure(
                    .badResponse,
                    "The file was changed while parts of it were fetched."
                )
            )
            return .failure(CurlError(.aborted))
        }
    }

    /// Returns what it means that a server refuses the rest of a file after it has sent a part.
    ///
    /// The URL may have been that of a redirect and have expired, so that only the task's own
    /// leads on: whether that is refused too, the next attempt finds out.
    private func meaning(ofRefusal refusal: TransferFailure, _ state: State) -> TransferFailure {
        // A credential that the task's own origin wants is asked for at once.
        let isQuestion = refusal.httpStatus == 401 && state.machine.redirects == 0
        guard !refusal.isRetryable, !isQuestion else { return refusal }
        let status = refusal.httpStatus.map { " with status \($0)" } ?? ""
        var failure = TransferFailure(
            .connectionLost,
            "The server refused the rest of the file\(status)."
        )
        failure.isAboutHost = false
        return failure
    }

    private func leave(_ connection: Int) {
        connections.forget(connection)
        active.returnConnection(of: claim.fence)
    }

    /// Gives up a connection because another attempt needs its slot.
    ///
    /// The loop's thread does that: no other one has to wait for what it is writing, and no
    /// connection is given up between its assignment and its request.
    func yieldConnection() {
        connections.perform { [self] in
            let connection = state.withLock { $0.segments?.yield() }
            if let connection { connections.cancel(connection) }
        }
    }
}

/// An additional connection that has joined a download.
private final class SegmentConnection: CurlSink {
    private let number: Int
    private let download: Download

    init(_ number: Int, of download: Download) {
        self.number = number
        self.download = download
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        download.state.withLock { download.accept(head, on: number, &$0) }
    }

    var takesLargePieces: Bool { true }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        download.receive(body, on: number)
    }

    func finish(_ result: Result<CurlSummary, CurlError>) { download.ended(number, result) }
}

extension Range<Int64> {
    /// Returns a value of `Range` (RFC 9110 §14.2), without an end where that is the end of a file
    /// of `total` bytes.
    func field(total: Int64?) -> String {
        upperBound == total ? "bytes=\(lowerBound)-" : "bytes=\(lowerBound)-\(upperBound - 1)"
    }
}
