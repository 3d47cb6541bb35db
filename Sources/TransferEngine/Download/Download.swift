import Curl
import EventLoop
import Synchronization
import TransferContainer
import TransferModel

/// One attempt of a download: requests, redirects and the part file.
///
/// Called on its curl loop's thread, but for `begin`, `abandon`, `yieldConnection` and `progress`,
/// which may come from anywhere; what both touch is under the mutex.
final class Download: CurlSink, TransferAttempt {
    /// What an ended attempt hands over.
    struct Ending: Sendable {
        let claim: TaskClaim
        let end: DownloadStateMachine.End
        /// The file as far as it was written; nil when there is none.
        let part: PartFile?
        /// What the file's checksums must be.
        let wanted: [Checksum]
        /// What they are, of a file so small that they are known.
        let found: [Checksum]?
        /// Knows them soon, of a larger file.
        let follower: FileFollower?
        /// What a later attempt needs to go on with the file; nil when it must not.
        var partial: PartialDownload?
        /// A file of an earlier attempt that does not fit what the origin has now.
        let dropped: Container.Place?
        let resumption: Resumption?
        let metrics: AttemptMetrics
        /// Where the last request went.
        let url: CurlURL
        let bytesReceived: Int64
        /// What is left of the time for the whole task.
        let remaining: Duration
    }

    /// Bytes after which a file is worth keeping, and the first checkpoint is made at once: what a
    /// killed worker costs at most.
    private static let checkpointBytes: Int64 = 512 * 1024

    /// Bytes of an answer's body that are read for the sake of the connection alone.
    private static let discardMax = 64 * 1024

    let claim: TaskClaim
    let loop: CurlLoop
    let container: Container
    let disk: BlockingPool<TenantID>
    let configuration: EngineConfiguration
    let active: ActiveAttempts
    let verifier: Verifier
    private let onReached: @Sendable () -> Void
    private let onCheckpoint: @Sendable () -> Void
    private let onEnd: @Sendable (Ending) -> Void
    let connections: Connections
    let state: Mutex<State>

    struct State {
        var machine: DownloadStateMachine
        var headers: [HTTPHeader]
        /// No redirect has led to another origin; once one has, secrets stay behind for good.
        var isAtOrigin = true
        var method: String
        var part: PartFile?
        /// Which bytes the part holds and how many there are; nil when it cannot be gone on with.
        var identity: (validator: EntityValidator, total: Int64)?
        /// Who fetches what; nil as long as one connection simply fetches all.
        var segments: Segments?
        /// The response of the first request has ended, and what follows are parts.
        var isLeadDone = false
        var dropped: Container.Place?
        /// What the file's checksums must be.
        var wanted: [Checksum] = []
        /// Takes the bytes of a small file as they pass.
        var hasher: ContentHasher?
        /// Takes those of any other behind them.
        var follower: FileFollower?
        /// The begin of an answer that is no result.
        var errorBody: [UInt8] = []
        var resumption: Resumption?
        var metrics = AttemptMetrics()
        var isDiscarding = false
        var discarded = 0
        var bytesReceived: Int64 = 0
        var bytesExpected: Int64?
        let startedAt = ContinuousClock.now
    }

    init(
        _ claim: TaskClaim,
        url: CurlURL,
        loop: CurlLoop,
        container: Container,
        disk: BlockingPool<TenantID>,
        configuration: EngineConfiguration,
        active: ActiveAttempts,
        verifier: Verifier,
        mayBegin: @escaping @Sendable () -> Bool = { true },
        onReached: @escaping @Sendable () -> Void,
        onCheckpoint: @escaping @Sendable () -> Void,
        onEnd: @escaping @Sendable (Ending) -> Void
    ) {
        self.claim = claim
        self.loop = loop
        self.container = container
        self.disk = disk
        self.configuration = configuration
        self.active = active
        self.verifier = verifier
        connections = Connections(mayBegin: mayBegin)
        self.onReached = onReached
        self.onCheckpoint = onCheckpoint
        self.onEnd = onEnd
        state = Mutex(
            State(
                machine: DownloadStateMachine(
                    url: url,
                    redirectsMax: claim.options.redirectsMax ?? EngineConfiguration.redirectsMax,
                    expectedSize: claim.options.expectedSize,
                    deliversErrors: claim.options.deliversHTTPErrors ?? false
                ),
                headers: claim.headers,
                method: claim.request.method,
                // As was stored, until the file has been looked at.
                bytesReceived: claim.partial?.bytesDurable ?? 0,
                bytesExpected: claim.partial?.bytesTotal
            )
        )
    }

    /// Sends the first request, once the disk has what it takes.
    func begin() {
        let needsDisk = claim.partial != nil || !container.hasDirectory(of: place)
        // One that was stopped before it began has nothing to prepare.
        guard needsDisk, !connections.isAbandoned else { return request() }
        disk.run(for: claim.tenant) { [self] in
            prepare()
            request()
        }
    }

    /// Sends the request, or gives the task back when none may be made any more.
    private func request() {
        if !connections.isOpen { abandon() }
        let request: CurlRequest? = state.withLock { state in
            guard state.machine.mayRequest else { return nil }
            state.metrics.redirects = state.machine.redirects
            state.metrics.fetchStart = .now - state.startedAt
            var request = plainRequest(state)
            if let point = state.machine.resumePoint {
                request.headers += [
                    ("Range", point.range.field(total: point.total)),
                    ("If-Range", point.validator.value),
                ]
            }
            return request
        }
        guard let request else { return loop.refuse(self) }
        connections.start(request, as: Segments.lead, on: loop, sink: self)
    }

    /// A request for the file as it stands now, without a range.
    func plainRequest(_ state: State) -> CurlRequest {
        var request = CurlRequest(
            url: state.machine.url.absoluteString,
            headers: state.headers.map { ($0.name, $0.value) },
            egress: configuration.egress
        )
        request.method = state.method
        request.httpVersion = .choice(for: .file(size: claim.options.expectedSize))
        request.apply(claim, remaining: timeLeft(state), isAtOrigin: state.isAtOrigin)
        // Of all of the file, for an origin may send it anew where a part was asked for.
        request.bodyBytesMax = min(configuration.fileBytesMax, claim.options.sizeMax ?? .max)
        return request
    }

    /// Stops the attempt; `onEnd` follows with `abandoned`, or with what came first.
    func abandon() {
        state.withLock { state in
            state.machine.abandoned()
            state.segments?.stop()
        }
        connections.abandon()
    }

    /// How far the attempt is.
    var progress: AttemptStatus {
        state.withLock { state in
            AttemptStatus(
                received: state.bytesReceived,
                expected: state.bytesExpected,
                isAtOrigin: state.isAtOrigin,
                resumption: state.resumption,
                checkpoint: state.bytesReceived >= Self.checkpointBytes ? keepable(state) : nil
            )
        }
    }

    func timeLeft(_ state: State) -> Duration {
        claim.timeoutForResource - claim.elapsed - (.now - state.startedAt)
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        // The first head is always the task's own host's, before any redirect.
        if state.withLock({ $0.metrics.httpStatus == nil }) { onReached() }
        return state.withLock { state in
            // A further part that the first connection fetches.
            if state.segments != nil { return accept(head, on: Segments.lead, &state) }
            state.metrics.httpStatus = head.status
            switch state.machine.received(head) {
            case .receive:
                state.bytesExpected = head.contentLength
                state.identity = identity(of: head, state)
                expectChecksums(head, &state)
                guard openPart(&state) else { return .abort }
                beginSegments(head, &state)
                beginChecksums(&state)
                return .proceed
            case .append:
                expectChecksums(head, &state)
                state.resumption = Resumption(
                    task: claim.task,
                    fence: claim.fence,
                    offset: state.bytesReceived
                )
                beginSegments(head, &state)
                beginChecksums(&state)
                return .proceed
            case .discard:
                state.isDiscarding = true
                state.discarded = 0
                return .proceed
            case .abort: return .abort
            }
        }
    }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        receive(body, on: Segments.lead)
    }

    /// Takes the next bytes of a connection.
    func receive(_ body: UnsafeRawBufferPointer, on connection: Int) -> SinkVerdict {
        let (verdict, isCheckpoint, adjustment) = state.withLock { state in
            let before = state.bytesReceived
            let verdict = write(body, on: connection, &state)
            let isCheckpoint =
                before < Self.checkpointBytes && state.bytesReceived >= Self.checkpointBytes
                && state.identity != nil
            return (verdict, isCheckpoint, adjust(&state))
        }
        if isCheckpoint { onCheckpoint() }
        if let adjustment { apply(adjustment) }
        return verdict
    }

    private func write(
        _ body: UnsafeRawBufferPointer,
        on connection: Int,
        _ state: inout State
    ) -> SinkVerdict {
        guard !state.isDiscarding else {
            state.discarded += body.count
            let room = TransferFailure.responseBodyBytesMax - state.errorBody.count
            if room > 0 { state.errorBody += body.prefix(room) }
            return state.discarded <= Self.discardMax ? .proceed : .abort
        }
        guard let part = state.part else { return .abort }
        do throws(StorageError) {
            defer {
                state.bytesReceived = part.bytesWritten
                state.follower?.advance(to: part.written.prefixCount)
            }
            guard state.segments == nil else {
                return try write(body, on: connection, to: part, &state)
            }
            try part.write(body)
            state.hasher?.update(body)
            return .proceed
        } catch {
            fail(error, &state)
            return .abort
        }
    }

    /// What a failing file system has taken is not to be relied on.
    func fail(_ error: StorageError, _ state: inout State) {
        state.identity = nil
        state.machine.failed(container.failure(of: error, isChosen: false))
        guard state.segments != nil else { return }
        state.segments?.stop()
        connections.cancelAll()
    }

    func finish(_ result: Result<CurlSummary, CurlError>) {
        state.withLock { state in
            if !state.isLeadDone { state.metrics.note(result) }
        }
        ended(Segments.lead, result)
    }

    /// Ends the attempt, or makes its next request, when nothing more comes of the last one.
    func settle(_ result: Result<CurlSummary, CurlError>) {
        let (action, ending) = state.withLock { state in
            if connections.isRefusal(result) { state.machine.abandoned() }
            let action = state.machine.finished(result, bytesWritten: state.bytesReceived)
            switch action {
            case .follow(_, let dropsSecrets):
                state.isDiscarding = false
                if let status = state.metrics.httpStatus {
                    state.method =
                        TransferRequest(method: state.method)
                        .redirected(status: status).method
                }
                state.errorBody = []
                if dropsSecrets {
                    state.headers.removeAll { !$0.isHarmless }
                    state.isAtOrigin = false
                }
                return (action, Ending?.none)
            case .restart:
                state.isDiscarding = false
                state.errorBody = []
                dropKept(&state)
                return (action, nil)
            case .end(.failed(var failure)) where failure.httpStatus != nil:
                if !state.errorBody.isEmpty { failure.responseBody = state.errorBody }
                return (action, handOver(.failed(failure), &state))
            case .end(let end):
                return (action, handOver(end, &state))
            }
        }
        switch action {
        case .follow, .restart: request()
        case .end: if let ending { onEnd(ending) }
        }
    }

    private func handOver(_ end: DownloadStateMachine.End, _ state: inout State) -> Ending {
        let partial = keepable(state)
        let part = state.part
        state.part = nil
        part?.unlock()
        return Ending(
            claim: claim,
            end: end,
            part: part,
            wanted: state.wanted,
            found: state.wanted.isEmpty ? [] : state.hasher?.finalize(),
            follower: state.follower,
            partial: partial,
            dropped: state.dropped,
            resumption: state.resumption,
            metrics: state.metrics,
            url: state.machine.url,
            bytesReceived: state.bytesReceived,
            remaining: timeLeft(state)
        )
    }
}
