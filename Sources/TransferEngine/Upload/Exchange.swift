import Curl
import PollLoop
import Glibc
import Synchronization
import TransferContainer
import TransferModel

/// An attempt of an upload or data task: requests, redirects, and the answer in memory.
///
/// It is called on its curl loop's thread, except for `start`, `abandon` and `progress`, which any
/// thread may call; state that both sides touch is under the mutex.
final class Exchange: CurlSink, TransferAttempt {
    /// The data that an ended attempt hands over.
    struct Ending: Sendable {
        let claim: TaskClaim
        let end: End
        let metrics: AttemptMetrics
        /// The URL of the last request.
        let url: CurlURL
        let bytesReceived: Int64
        let bytesSent: Int64
        /// Whether the origin may have acted on the request.
        let mayHaveArrived: Bool
        /// The time left for the whole task.
        let remaining: Duration
    }

    enum End: Sendable {
        case finished(TransferResult, body: [UInt8])
        case failed(TransferFailure)
        case abandoned
    }

    let claim: TaskClaim
    private let loop: CurlLoop
    private let container: Container
    private let disk: BlockingPool<TenantID>
    private let configuration: EngineConfiguration
    private let onReached: @Sendable () -> Void
    private let onEnd: @Sendable (Ending) -> Void
    /// The maximum number of bytes kept of an answer.
    private let answerBytesMax: Int
    let connections: Connections
    private let state: Mutex<Confined>

    private struct Confined {
        var machine: ResponseStateMachine
        var request: TransferRequest
        var headers: [HTTPHeader]
        /// Whether no redirect has led to another origin; once one has, secrets are withheld
        /// permanently.
        var isAtOrigin = true
        /// The cookies of this attempt, of the hosts that set them; nil when it keeps none.
        var cookies: CookieJar?
        /// The file being sent, once it is open, if the upload is from a file.
        var file: UploadFile?
        /// Whether the arriving answer is the result, and neither a redirect nor a failure.
        var isResult = false
        var body: [UInt8] = []
        /// Whether the answer was longer than what is kept of it.
        var isCut = false
        var bytesReceived: Int64 = 0
        var bytesExpected: Int64?
        var metrics = AttemptMetrics()
        var mayHaveArrived = false
        let startedAt = ContinuousClock.now
    }

    init(
        _ claim: TaskClaim,
        url: CurlURL,
        loop: CurlLoop,
        container: Container,
        disk: BlockingPool<TenantID>,
        configuration: EngineConfiguration,
        mayBegin: @escaping @Sendable () -> Bool = { true },
        onReached: @escaping @Sendable () -> Void,
        onEnd: @escaping @Sendable (Ending) -> Void
    ) {
        self.claim = claim
        self.loop = loop
        self.container = container
        self.disk = disk
        self.configuration = configuration
        connections = Connections(mayBegin: mayBegin)
        self.onReached = onReached
        self.onEnd = onEnd
        let kind = claim.request.kind
        answerBytesMax = min(
            kind.answerBytesMax,
            kind == .data ? Int(clamping: claim.options.sizeMax ?? .max) : .max
        )
        state = Mutex(
            Confined(
                machine: ResponseStateMachine(
                    url: url,
                    redirectsMax: claim.options.redirectsMax ?? TransferOptions.redirectsMaxDefault,
                    guarding: claim.options.sendsBodyToOtherOrigins ?? false ? nil : claim.request,
                    deliversErrors: claim.options.deliversHTTPErrors ?? false
                ),
                request: claim.request,
                headers: claim.headers,
                cookies: claim.cookies
            )
        )
    }

    /// The file that an upload from a file sends.
    private var source: Container.Place? {
        switch claim.request.upload {
        case .file(let path): Container.Place(path, tenant: claim.tenant)
        case .staged: Container.Place(ResultLocation.bodyPath(of: claim.task), tenant: claim.tenant)
        case .data, nil: nil
        }
    }

    /// Sends the first request, once the file to send is open.
    func begin() {
        // An attempt that was stopped before it started has nothing to open.
        guard let source, !connections.isAbandoned else { return request() }
        disk.run(for: claim.tenant) { [self] in
            open(source)
            request()
        }
    }

    /// Opens the file to send; waits for the disk.
    private func open(_ source: Container.Place) {
        do throws(StorageError) {
            let file = try UploadFile(source, in: container)
            state.withLock { $0.file = file }
        } catch {
            // A shortage on this machine says nothing about the file.
            let isItsOwn = [ENOENT, ENXIO, ENODEV].contains(error.errno)
            let failure =
                isItsOwn || error.failure.shortage == nil
                ? TransferFailure(.sourceMissing, "The file to upload cannot be read.")
                : error.failure
            state.withLock { $0.machine.failed(failure) }
        }
    }

    /// Sends the request, or gives the task back when no request may be made any more.
    private func request() {
        if !connections.isOpen { abandon() }
        let request: CurlRequest? = state.withLock { state in
            guard state.machine.mayRequest else { return nil }
            state.metrics.redirects = state.machine.redirects
            state.metrics.fetchStart = .now - state.startedAt
            var request = CurlRequest(
                url: state.machine.url,
                method: state.request.method,
                headers: state.headers.map { ($0.name, $0.value) },
                egress: configuration.egress
            )
            if case .data(let bytes) = state.request.upload { request.body = bytes }
            if state.request.upload != nil, let file = state.file {
                // After a redirect it is sent from its beginning.
                _ = file.rewind()
                request.bodySource = file
            }
            request.httpVersion = .choice(
                for: claim.request.kind == .data ? .message : .file(size: bytesToSend(state))
            )
            request.apply(
                claim,
                remaining: timeLeft(state),
                isAtOrigin: state.isAtOrigin,
                cookies: state.cookies,
                userAgent: configuration.userAgent
            )
            return request
        }
        guard let request else { return loop.refuse(self) }
        connections.start(request, on: loop, sink: self)
    }

    /// Does nothing, because an exchange has only one connection.
    func yieldConnection() {}

    func abandon() {
        state.withLock { $0.machine.abandoned() }
        connections.abandon()
    }

    var progress: AttemptStatus {
        state.withLock { state in
            AttemptStatus(
                received: state.bytesReceived,
                expected: state.bytesExpected,
                sent: bytesSent(state),
                toSend: bytesToSend(state),
                isAtOrigin: state.isAtOrigin
            )
        }
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        // The first head always comes from the task's own host, before any redirect. A 503 does not
        // show that the host serves.
        if head.status != 503, state.withLock({ $0.metrics.httpStatus == nil }) { onReached() }
        return state.withLock { state in
            state.metrics.httpStatus = head.status
            state.body = []
            state.isCut = false
            let action = state.machine.received(head)
            state.isResult = action == .receive
            if state.isResult {
                state.bytesExpected = head.contentLength
                if isTooLong(head.contentLength ?? 0) { return refuse(&state) }
            }
            return action == .abort ? .abort : .proceed
        }
    }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        state.withLock { state in
            if state.isResult { state.bytesReceived += Int64(body.count) }
            let room = answerBytesMax - state.body.count
            state.body += body.prefix(max(0, room))
            guard body.count > room else { return .proceed }
            if isTooLong(state.bytesReceived) { return refuse(&state) }
            // The rest beyond the limit is not waited for.
            state.isCut = true
            return .abort
        }
    }

    /// Whether an answer of that length is too long for its task, whose answer must not be cut.
    private func isTooLong(_ length: Int64) -> Bool {
        claim.request.kind == .data && claim.request.method != "HEAD" && length > answerBytesMax
    }

    private func refuse(_ state: inout Confined) -> SinkVerdict {
        state.machine.failed(
            TransferFailure(
                .responseTooLarge,
                "The response is longer than the \(answerBytesMax) bytes that are kept with a task."
            )
        )
        state.body = []
        return .abort
    }

    func finish(_ result: Result<CurlSummary, CurlError>) {
        let (goesOn, ending) = state.withLock { state in
            state.metrics.note(result)
            state.cookies = result.summary.cookies ?? state.cookies
            state.mayHaveArrived = state.mayHaveArrived || state.metrics.remoteAddress != nil
            if connections.isRefusal(result) { state.machine.abandoned() }
            switch state.machine.finished(wholeEnough(result, state), bytesWritten: 0) {
            case .follow(_, let dropsSecrets):
                if dropsSecrets {
                    state.headers.removeAll { !$0.isHarmless }
                    state.isAtOrigin = false
                }
                state.request.follow(redirect: state.metrics.httpStatus ?? 0, &state.headers)
                return (true, Ending?.none)
            case .restart:
                return (true, nil)
            case .end(let end):
                return (false, handOver(end, state))
            }
        }
        if goesOn { request() }
        if let ending { onEnd(ending) }
    }

    /// Returns the result, as a success if the answer was cut on our side.
    private func wholeEnough(
        _ result: Result<CurlSummary, CurlError>,
        _ state: Confined
    ) -> Result<CurlSummary, CurlError> {
        guard state.isCut, case .failure(let error) = result else { return result }
        return .success(error.summary)
    }

    private func handOver(_ end: ResponseStateMachine.End, _ state: Confined) -> Ending {
        Ending(
            claim: claim,
            end: checked(end, state),
            metrics: state.metrics,
            url: state.machine.url,
            bytesReceived: state.bytesReceived,
            bytesSent: bytesSent(state),
            mayHaveArrived: state.mayHaveArrived,
            remaining: timeLeft(state)
        )
    }

    private func checked(_ end: ResponseStateMachine.End, _ state: Confined) -> End {
        if let file = state.file, !file.isUnchanged, !connections.isAbandoned {
            return .failed(
                TransferFailure(.sourceChanged, "The file was changed while it was sent.")
            )
        }
        switch end {
        case .finished(let result):
            let answer = TransferResult(
                httpStatus: result.httpStatus,
                bytesReceived: state.bytesReceived,
                fields: result.fields,
                isLengthVerified: result.isLengthVerified && !state.isCut,
                isTruncated: state.isCut,
                finalURL: result.finalURL
            )
            return .finished(answer, body: state.body)
        case .failed(var failure):
            if failure.httpStatus != nil, !state.body.isEmpty {
                failure.responseBody = Array(
                    state.body.prefix(TransferFailure.responseBodyBytesMax)
                )
            }
            return .failed(failure)
        case .abandoned: return .abandoned
        }
    }

    private func bytesSent(_ state: Confined) -> Int64 {
        state.file?.bytesRead ?? (state.mayHaveArrived ? bytesToSend(state) : 0)
    }

    private func bytesToSend(_ state: Confined) -> Int64 {
        guard case .data(let bytes) = claim.request.upload else { return state.file?.length ?? 0 }
        return Int64(bytes.count)
    }

    private func timeLeft(_ state: Confined) -> Duration {
        claim.timeoutForResource - claim.elapsed - (.now - state.startedAt)
    }
}
