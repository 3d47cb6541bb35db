import Curl
import PollLoop
import Synchronization
import TransferContainer
import TransferModel

/// An attempt of a download task: requests, redirects and the part file.
///
/// It is called on its curl loop's thread, except for `begin`, `abandon`, `yieldConnection` and
/// `progress`, which any thread may call. The loop's thread holds the mutex also while it writes,
/// for as long as the disk takes; those calls do not wait for it then.
final class Download: CurlSink, TransferAttempt {
    /// The number of bytes after which a file is worth keeping and the first checkpoint is made at
    /// once; a killed worker costs at most this much.
    static let checkpointBytes: Int64 = 512 * 1024

    let claim: TaskClaim
    /// The place of the file that this attempt creates.
    let place: Container.Place
    let container: Container
    let packs: Packs
    let disk: BlockingPool<TenantID>
    let configuration: EngineConfiguration
    let active: ActiveAttempts
    let verifier: Verifier
    private let onReached: @Sendable (TaskClaim) -> Void
    private let onCheckpoint: @Sendable () -> Void
    private let onEnd: @Sendable (EndedDownload) -> Void
    let connections: Connections
    let state: Mutex<State>
    /// What ``progress`` is while something is being written.
    let published: Mutex<AttemptStatus>

    struct State {
        var machine: ResponseStateMachine
        var headers: [HTTPHeader]
        /// Whether the attempt is at the task's own origin, and not at that of a mirror or of a
        /// redirect; once it has left, secrets are withheld permanently.
        var isAtOrigin: Bool
        /// The cookies of this attempt, of the hosts that set them; nil when it keeps none.
        var cookies: CookieJar?
        var request: TransferRequest
        var part: PartFile?
        /// The body so far, if it is small; there is no part then.
        var gathered: [UInt8]?
        /// The file that is fetched; nil when it cannot be resumed.
        var identity: Identity?
        /// The division of the file among connections; nil as long as one connection simply fetches
        /// all.
        var segments: Segments?
        /// Whether the response of the first request has ended, so that further ones bring parts.
        var isLeadDone = false
        /// The file of an earlier attempt that does not match what the origin has now; its lock is
        /// held until it is removed, because the row may still name it.
        var dropped: PartFile?
        /// The checksums that the file must have.
        var wanted: [Checksum] = []
        /// The hasher that takes the bytes of a small file as they pass.
        var hasher: ContentHasher?
        /// The reader that takes the bytes of any other file behind the writer.
        var follower: FileFollower?
        /// The start of an answer that is not a result.
        var errorBody: [UInt8] = []
        var resumption: Resumption?
        var metrics = AttemptMetrics()
        /// Whether a request of the attempt may have reached an origin.
        var mayHaveArrived = false
        var isDiscarding = false
        var discarded = 0
        var bytesReceived: Int64 = 0
        var bytesExpected: Int64?
        let startedAt = ContinuousClock.now

        /// Whether the request asks for a file and for nothing else, so that parts of the same file
        /// can be asked for.
        var isPlainGET: Bool { request.method == "GET" && request.upload == nil }
    }

    init(
        _ claim: TaskClaim,
        url: CurlURL,
        container: Container,
        packs: Packs,
        disk: BlockingPool<TenantID>,
        configuration: EngineConfiguration,
        active: ActiveAttempts,
        verifier: Verifier,
        mayBegin: @escaping @Sendable () -> Bool = { true },
        onReached: @escaping @Sendable (TaskClaim) -> Void,
        onCheckpoint: @escaping @Sendable () -> Void,
        onEnd: @escaping @Sendable (EndedDownload) -> Void
    ) {
        self.claim = claim
        place = Container.Place(partOf: claim, fence: claim.fence)
        self.container = container
        self.packs = packs
        self.disk = disk
        self.configuration = configuration
        self.active = active
        self.verifier = verifier
        connections = Connections(mayBegin: mayBegin)
        self.onReached = onReached
        self.onCheckpoint = onCheckpoint
        self.onEnd = onEnd
        let initial = State(
            machine: ResponseStateMachine(
                url: url,
                redirectsMax: claim.options.redirectsMax ?? TransferOptions.redirectsMaxDefault,
                guarding: claim.options.sendsBodyToOtherOrigins ?? false ? nil : claim.request,
                expectedSize: claim.options.expectedSize,
                bodyBytesMax: claim.bodyBytesMax(configuration),
                hasContent: claim.request.method != "HEAD",
                deliversErrors: claim.options.deliversHTTPErrors ?? false,
                hasDestination: claim.destination != nil,
                isAtMirror: claim.isAtMirror
            ),
            headers: claim.headers,
            isAtOrigin: claim.isAtOrigin,
            cookies: claim.cookies,
            request: claim.request,
            // The stored values, until the file has been examined.
            bytesReceived: claim.partial?.bytesDurable ?? 0,
            bytesExpected: claim.partial?.bytesTotal
        )
        published = Mutex(initial.status)
        state = Mutex(initial)
    }

    /// Sends the first request, once the disk work before it is done.
    func begin(on loop: CurlLoop) {
        connections.begin(on: loop)
        let needsDisk =
            claim.partial != nil || !container.hasDirectory(of: place)
            || claim.destination?.overwrite == false
        // An attempt that was stopped before it started has nothing to prepare.
        guard needsDisk, !connections.isAbandoned else { return request() }
        disk.run(for: claim.tenant) { [self] in
            prepare()
            request()
        }
    }

    /// Sends the request, or gives the task back when no request may be made any more.
    private func request() {
        if !connections.isOpen { abandon() }
        let request: CurlRequest? = state.withLock { state in
            heedAbandonment(&state)
            guard state.machine.mayRequest else { return nil }
            state.metrics.redirects = state.machine.redirects
            state.metrics.fetchStart = .now - state.startedAt
            var request = plainRequest(state)
            if let point = state.machine.resumePoint { request.resume(at: point) }
            return request
        }
        guard let request else { return connections.refuse(self) }
        connections.start(request, as: Segments.lead, sink: self)
    }

    /// Returns a request for the file as things stand now, without a range.
    func plainRequest(_ state: State) -> CurlRequest {
        var request = CurlRequest(
            url: state.machine.url,
            method: state.request.method,
            headers: state.headers.map { ($0.name, $0.value) },
            egress: configuration.egress
        )
        if case .data(let bytes) = state.request.upload { request.body = bytes }
        request.httpVersion = .choice(for: .file(size: claim.options.expectedSize))
        request.apply(
            claim,
            remaining: timeLeft(state),
            isAtOrigin: state.isAtOrigin,
            cookies: state.cookies,
            userAgent: configuration.userAgent
        )
        // The limit covers the whole file, for an origin may send all of it again where a part was
        // asked for.
        request.bodyBytesMax = claim.bodyBytesMax(configuration)
        return request
    }

    /// Stops the attempt; `onEnd` follows with `abandoned`, or with the outcome that came first.
    ///
    /// From now on no request is sent, and nothing is written after a piece that is being written.
    func abandon() { connections.abandon() }

    /// Lets the state follow an abandonment, which does not wait for its mutex.
    func heedAbandonment(_ state: inout State) {
        guard connections.isAbandoned else { return }
        state.machine.abandoned()
        state.segments?.stop()
    }

    func timeLeft(_ state: State) -> Duration {
        claim.timeoutForResource - claim.elapsed - (.now - state.startedAt)
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        // The first head always comes from the task's own host, before any redirect. A 503 does not
        // show that the host serves.
        if head.status != 503, state.withLock({ $0.metrics.httpStatus == nil }) { onReached(claim) }
        return state.withLock { state in
            heedAbandonment(&state)
            // This is another part that the first connection fetches.
            if state.segments != nil { return accept(head, on: Segments.lead, &state) }
            state.metrics.httpStatus = head.status
            switch state.machine.received(head) {
            case .receive:
                state.bytesExpected = head.credibleLength(configuration)
                state.identity = identity(of: head, state)
                expectChecksums(head, &state)
                guard beginPart(head, &state) else { return .abort }
                beginSegments(head, &state)
                beginChecksums(&state)
                return .proceed
            case .append:
                if state.machine.redirects > 0 { state.identity?.mayBeOfAnother = true }
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
                return .discard
            case .abort: return .abort
            }
        }
    }

    /// They are written to a file.
    var takesLargePieces: Bool { true }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        receive(body, on: Segments.lead)
    }

    /// Takes the next bytes of a connection.
    func receive(_ body: UnsafeRawBufferPointer, on connection: Int) -> SinkVerdict {
        let (outcome, isCheckpoint, adjustment) = state.withLock { state in
            let before = state.bytesReceived
            let outcome = write(body, on: connection, &state)
            let isCheckpoint =
                before < Self.checkpointBytes && state.bytesReceived >= Self.checkpointBytes
                && state.identity != nil
            publish(state)
            return (outcome, isCheckpoint, adjust(&state))
        }
        if isCheckpoint { onCheckpoint() }
        if let adjustment { apply(adjustment) }
        return outcome
    }

    private func write(
        _ body: UnsafeRawBufferPointer,
        on connection: Int,
        _ state: inout State
    ) -> SinkVerdict {
        guard !connections.isAbandoned else { return .abort }
        guard !state.isDiscarding else {
            state.discarded += body.count
            let room = TransferFailure.responseBodyBytesMax - state.errorBody.count
            if room > 0 { state.errorBody += body.prefix(room) }
            return state.discarded <= ResponseStateMachine.discardedBytesMax ? .proceed : .abort
        }
        guard state.gathered == nil else { return gather(body, &state) }
        guard let part = state.part else { return .abort }
        do throws(StorageError) {
            defer {
                state.bytesReceived = part.bytesWritten
                state.follower?.advance(to: part.written.prefixCount)
            }
            guard state.segments == nil else {
                return try write(body, on: connection, to: part, &state)
            }
            let count = part.bytesWritten + Int64(body.count)
            guard state.machine.received(bytes: count) else { return .abort }
            try part.write(body)
            state.hasher?.update(body)
            return .proceed
        } catch {
            fail(error, &state)
            return .abort
        }
    }

    /// Fails the attempt after an error of the file system, whose written bytes cannot be relied
    /// on.
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
            if !result.isRequestRefused {
                state.mayHaveArrived = state.mayHaveArrived || state.metrics.requestStart > .zero
            }
            state.cookies = result.summary.cookies ?? state.cookies
        }
        ended(Segments.lead, result)
    }

    /// Ends the attempt, or makes its next request, when nothing more comes from the last one.
    func settle(_ result: Result<CurlSummary, CurlError>) {
        let (action, ended) = state.withLock { state in
            if connections.isRefusal(result) { state.machine.abandoned() }
            let action = state.machine.finished(result, bytesWritten: state.bytesReceived)
            switch action {
            case .follow(_, let dropsSecrets):
                state.isDiscarding = false
                if let status = state.metrics.httpStatus {
                    state.request.follow(redirect: status, &state.headers)
                }
                state.errorBody = []
                if dropsSecrets {
                    state.headers.removeAll { !claim.isHarmless($0) }
                    state.isAtOrigin = false
                }
                return (action, EndedDownload?.none)
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
        case .end: if let ended { onEnd(ended) }
        }
    }

    private func handOver(
        _ end: ResponseStateMachine.End,
        _ state: inout State
    ) -> EndedDownload {
        let (part, end) = stored(end, &state)
        let partial = state.keepable
        state.part?.unlock()
        state.part = nil
        return EndedDownload(
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
            mayHaveArrived: state.mayHaveArrived,
            remaining: timeLeft(state)
        )
    }
}

extension TaskClaim {
    /// The most bytes that a file of the task may have.
    fileprivate func bodyBytesMax(_ configuration: EngineConfiguration) -> Int64 {
        min(configuration.fileBytesMax, options.sizeMax ?? .max)
    }
}
