import Curl
import Synchronization
import TransferContainer
import TransferModel

/// One attempt of a download: requests, redirects and the part file.
///
/// Called on its curl loop's thread, but for `start`, `abandon` and `progress`, which may come from
/// anywhere; what both touch is under the mutex.
final class Download: CurlSink, TransferAttempt {
    /// What an ended attempt hands over.
    struct Ending: Sendable {
        let claim: TaskClaim
        let end: DownloadStateMachine.End
        /// The file as far as it was written; nil when there is none.
        let part: PartFile?
        /// What the file's checksums must be and are; nil where the file has to be read for that.
        let wanted: [Checksum]
        let found: [Checksum]?
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
    private let loop: CurlLoop
    private let container: Container
    private let configuration: EngineConfiguration
    private let onCheckpoint: @Sendable () -> Void
    private let onEnd: @Sendable (Ending) -> Void
    let current = CurrentTransfer()
    private let state: Mutex<Confined>

    private struct Confined {
        var machine: DownloadStateMachine
        var headers: [HTTPHeader]
        var method: String
        var part: PartFile?
        /// Which bytes the part holds and how many there are; nil when it cannot be gone on with.
        var identity: (validator: EntityValidator, total: Int64)?
        var dropped: Container.Place?
        /// What the file's checksums must be.
        var wanted: [Checksum] = []
        /// Takes the bytes as they pass; nil when some have passed before.
        var hasher: ContentHasher?
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
        configuration: EngineConfiguration,
        onCheckpoint: @escaping @Sendable () -> Void,
        onEnd: @escaping @Sendable (Ending) -> Void
    ) {
        self.claim = claim
        self.loop = loop
        self.container = container
        self.configuration = configuration
        self.onCheckpoint = onCheckpoint
        self.onEnd = onEnd
        let kept = Self.kept(claim, container)
        state = Mutex(
            Confined(
                machine: DownloadStateMachine(
                    url: url,
                    redirectsMax: claim.options.redirectsMax ?? EngineConfiguration.redirectsMax,
                    expectedSize: claim.options.expectedSize,
                    deliversErrors: claim.options.deliversHTTPErrors ?? false,
                    resumePoint: kept?.point
                ),
                headers: claim.headers,
                method: claim.request.method,
                part: kept?.part,
                identity: kept.map { ($0.point.validator, $0.point.total) },
                bytesReceived: kept?.point.offset ?? 0,
                bytesExpected: kept?.point.total
            )
        )
    }

    /// What an earlier attempt left, if it can be gone on with; else the attempt begins anew.
    private static func kept(
        _ claim: TaskClaim,
        _ container: Container
    ) -> (part: PartFile, point: DownloadStateMachine.ResumePoint)? {
        guard let partial = claim.partial, claim.request.method == "GET" else { return nil }
        let place = Container.Place(
            partOf: claim.task,
            destination: claim.destination,
            fence: partial.partFence,
            tenant: claim.tenant
        )
        do throws(StorageError) {
            if let source = partial.sourcePath {
                try container.adoptPart(
                    from: Container.Place(source, tenant: claim.tenant),
                    to: place
                )
            }
            guard let part = try PartFile(goingOnWith: partial, at: place, in: container) else {
                return nil
            }
            let point = DownloadStateMachine.ResumePoint(
                offset: part.bytesWritten,
                total: partial.bytesTotal,
                validator: partial.validator
            )
            return (part, point)
        } catch {
            // A file system in trouble fails the attempt as soon as it writes.
            return nil
        }
    }

    /// Sends the request.
    func start(_ url: CurlURL) {
        let (headers, method, point, remaining) = state.withLock { state in
            state.metrics.redirects = state.machine.redirects
            state.metrics.fetchStart = .now - state.startedAt
            return (state.headers, state.method, state.machine.resumePoint, timeLeft(state))
        }
        var request = CurlRequest(
            url: url.absoluteString,
            headers: headers.map { ($0.name, $0.value) },
            egress: configuration.egress
        )
        request.method = method
        if let point {
            request.headers += [
                ("Range", "bytes=\(point.offset)-"), ("If-Range", point.validator.value),
            ]
        }
        request.apply(claim, remaining: remaining)
        // Of all of the file, for an origin may send it anew where the rest was asked for.
        request.bodyBytesMax = min(configuration.fileBytesMax, claim.options.sizeMax ?? .max)
        current.start(request, on: loop, sink: self)
    }

    /// Stops the attempt; `onEnd` follows with `abandoned`, or with what came first.
    func abandon() {
        state.withLock { $0.machine.abandoned() }
        current.abandon()
    }

    /// How far the attempt is.
    var progress: AttemptStatus {
        state.withLock { state in
            AttemptStatus(
                received: state.bytesReceived,
                expected: state.bytesExpected,
                resumption: state.resumption,
                checkpoint: state.bytesReceived >= Self.checkpointBytes ? keepable(state) : nil
            )
        }
    }

    private func timeLeft(_ state: Confined) -> Duration {
        claim.timeoutForResource - claim.elapsed - (.now - state.startedAt)
    }

    private func keepable(_ state: Confined) -> PartialDownload? {
        guard let part = state.part, let identity = state.identity, state.bytesReceived > 0,
            state.bytesReceived <= identity.total
        else { return nil }
        return PartialDownload(
            partFence: part.fence,
            bootID: Boot.id,
            bytesDurable: 0,
            bytesTotal: identity.total,
            validator: identity.validator
        )
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        state.withLock { state in
            state.metrics.httpStatus = head.status
            switch state.machine.received(head) {
            case .receive:
                state.bytesExpected = head.contentLength
                let validator = EntityValidator(
                    etag: head["ETag"],
                    lastModified: head["Last-Modified"],
                    date: head["Date"]
                )
                state.identity =
                    state.method != "GET"
                    ? nil
                    : validator.flatMap { validator in
                        head.contentLength.flatMap { $0 > 0 ? (validator, $0) : nil }
                    }
                expectChecksums(head, &state)
                if !state.wanted.isEmpty {
                    state.hasher = ContentHasher(Set(state.wanted.map(\.algorithm)))
                }
                return openPart(&state)
            case .append:
                expectChecksums(head, &state)
                state.resumption = Resumption(
                    task: claim.task,
                    fence: claim.fence,
                    offset: state.bytesReceived
                )
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
        let (verdict, isCheckpoint) = state.withLock { state in
            let before = state.bytesReceived
            let verdict = write(body, &state)
            let isCheckpoint =
                before < Self.checkpointBytes && state.bytesReceived >= Self.checkpointBytes
                && state.identity != nil
            return (verdict, isCheckpoint)
        }
        if isCheckpoint { onCheckpoint() }
        return verdict
    }

    private func write(_ body: UnsafeRawBufferPointer, _ state: inout Confined) -> SinkVerdict {
        guard !state.isDiscarding else {
            state.discarded += body.count
            let room = TransferFailure.responseBodyBytesMax - state.errorBody.count
            if room > 0 { state.errorBody += body.prefix(room) }
            return state.discarded <= Self.discardMax ? .proceed : .abort
        }
        guard let part = state.part else { return .abort }
        do throws(StorageError) {
            try part.write(body)
            state.hasher?.update(body)
            state.bytesReceived = part.bytesWritten
            return .proceed
        } catch {
            // What a failing file system has taken is not to be relied on.
            state.identity = nil
            state.machine.failed(error.failure)
            return .abort
        }
    }

    func finish(_ result: Result<CurlSummary, CurlError>) {
        let (action, ending) = state.withLock { state in
            state.metrics.note(result)
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
        case .follow(let url, _): start(url)
        case .restart: start(state.withLock { $0.machine.url })
        case .end: if let ending { onEnd(ending) }
        }
    }

    private func handOver(_ end: DownloadStateMachine.End, _ state: inout Confined) -> Ending {
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
            partial: partial,
            dropped: state.dropped,
            resumption: state.resumption,
            metrics: state.metrics,
            url: state.machine.url,
            bytesReceived: state.bytesReceived,
            remaining: timeLeft(state)
        )
    }

    /// Begins anew, because the file does not fit what the origin has now.
    private func dropKept(_ state: inout Confined) {
        guard let part = state.part else { return }
        state.part = nil
        state.identity = nil
        state.bytesReceived = 0
        state.dropped = part.place
    }

    /// Takes up what the task and the origin say of the file; an answer that is no success is not
    /// the file they speak of.
    private func expectChecksums(_ head: ResponseHead, _ state: inout Confined) {
        guard (200...299).contains(head.status) else { return }
        state.wanted =
            claim.options.checksums
            + DigestFields.checksums(status: head.status, headers: head.headers)
    }

    private func openPart(_ state: inout Confined) -> SinkVerdict {
        let identity = state.identity
        dropKept(&state)
        state.identity = identity
        let place = Container.Place(
            partOf: claim.task,
            destination: claim.destination,
            fence: claim.fence,
            tenant: claim.tenant
        )
        do throws(StorageError) {
            state.part = try PartFile(
                place,
                fence: claim.fence,
                in: container
            )
            return .proceed
        } catch {
            state.machine.failed(error.failure)
            return .abort
        }
    }
}
