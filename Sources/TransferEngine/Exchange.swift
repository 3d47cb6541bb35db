import Curl
import Synchronization
import TransferContainer
import TransferModel

/// One attempt of an upload or a data task: requests, redirects, and the answer in memory.
///
/// Called on its curl loop's thread, but for `start`, `abandon` and `progress`, which may come from
/// anywhere; what both touch is under the mutex.
final class Exchange: CurlSink, TransferAttempt {
    /// What an ended attempt hands over.
    struct Ending: Sendable {
        let claim: TaskClaim
        let end: End
        let metrics: AttemptMetrics
        /// Where the last request went.
        let url: CurlURL
        let bytesReceived: Int64
        let bytesSent: Int64
        /// Whether the origin may have acted on the request.
        let mayHaveArrived: Bool
        /// What is left of the time for the whole task.
        let remaining: Duration
    }

    enum End: Sendable {
        case finished(TransferResult, body: [UInt8])
        case failed(TransferFailure)
        case abandoned
    }

    let claim: TaskClaim
    private let loop: CurlLoop
    private let configuration: EngineConfiguration
    private let onReached: @Sendable () -> Void
    private let onEnd: @Sendable (Ending) -> Void
    private let bytesToSend: Int64
    /// What is kept of an answer, in bytes.
    private let answerBytesMax: Int
    let connections: Connections
    private let state: Mutex<Confined>

    private struct Confined {
        var machine: DownloadStateMachine
        var request: TransferRequest
        var headers: [HTTPHeader]
        /// No redirect has led to another origin; once one has, secrets stay behind for good.
        var isAtOrigin = true
        let file: UploadFile?
        /// The answer that is arriving is the result, and neither a redirect nor a failure.
        var isResult = false
        var body: [UInt8] = []
        /// The answer went on beyond what is kept of it.
        var isCut = false
        var bytesReceived: Int64 = 0
        var bytesExpected: Int64?
        var metrics = AttemptMetrics()
        var mayHaveArrived = false
        let startedAt = ContinuousClock.now
    }

    /// Opens the file that is sent, if it is one.
    ///
    /// - Throws: the failure of the attempt.
    init(
        _ claim: TaskClaim,
        url: CurlURL,
        loop: CurlLoop,
        container: Container,
        configuration: EngineConfiguration,
        mayBegin: @escaping @Sendable () -> Bool = { true },
        onReached: @escaping @Sendable () -> Void,
        onEnd: @escaping @Sendable (Ending) -> Void
    ) throws(TransferFailure) {
        self.claim = claim
        self.loop = loop
        self.configuration = configuration
        connections = Connections(mayBegin: mayBegin)
        self.onReached = onReached
        self.onEnd = onEnd
        let kind = claim.request.kind
        answerBytesMax = min(
            kind.answerBytesMax,
            kind == .data ? Int(clamping: claim.options.sizeMax ?? .max) : .max
        )
        let file = try Self.file(claim, container)
        if case .data(let bytes) = claim.request.upload {
            bytesToSend = Int64(bytes.count)
        } else {
            bytesToSend = file?.length ?? 0
        }
        state = Mutex(
            Confined(
                machine: DownloadStateMachine(
                    url: url,
                    redirectsMax: claim.options.redirectsMax ?? EngineConfiguration.redirectsMax,
                    deliversErrors: claim.options.deliversHTTPErrors ?? false
                ),
                request: claim.request,
                headers: claim.headers,
                file: file
            )
        )
    }

    private static func file(
        _ claim: TaskClaim,
        _ container: Container
    ) throws(TransferFailure) -> UploadFile? {
        let path: String
        switch claim.request.upload {
        case .file(let given): path = given
        case .staged: path = ResultLocation.bodyPath(of: claim.task)
        case .data, nil: return nil
        }
        do throws(StorageError) {
            return try UploadFile(Container.Place(path, tenant: claim.tenant), in: container)
        } catch {
            throw TransferFailure(.sourceMissing, "The file to upload cannot be read.")
        }
    }

    /// Sends the request, or gives the task back when none may be made any more.
    func begin() {
        if !connections.isOpen { abandon() }
        var (request, remaining, isAtOrigin) = state.withLock { state in
            state.metrics.redirects = state.machine.redirects
            state.metrics.fetchStart = .now - state.startedAt
            var request = CurlRequest(
                url: state.machine.url.absoluteString,
                method: state.request.method,
                headers: state.headers.map { ($0.name, $0.value) },
                egress: configuration.egress
            )
            if case .data(let bytes) = state.request.upload { request.body = bytes }
            if state.request.upload != nil, let file = state.file {
                // A redirect sends it from its begin.
                _ = file.rewind()
                request.bodySource = file
            }
            return (request, timeLeft(state), state.isAtOrigin)
        }
        request.httpVersion = .choice(
            for: claim.request.kind == .data ? .message : .file(size: bytesToSend)
        )
        request.apply(claim, remaining: remaining, isAtOrigin: isAtOrigin)
        connections.start(request, on: loop, sink: self)
    }

    /// It has no further one.
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
                toSend: bytesToSend,
                isAtOrigin: state.isAtOrigin
            )
        }
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        // The first head is always the task's own host's, before any redirect.
        if state.withLock({ $0.metrics.httpStatus == nil }) { onReached() }
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
            // What goes on beyond the bound is not waited for.
            state.isCut = true
            return .abort
        }
    }

    /// Whether an answer of that length is too long for its task, of which nothing may be cut.
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
            state.mayHaveArrived = state.mayHaveArrived || state.metrics.remoteAddress != nil
            if connections.isRefusal(result) { state.machine.abandoned() }
            switch state.machine.finished(wholeEnough(result, state), bytesWritten: 0) {
            case .follow(_, let dropsSecrets):
                if dropsSecrets {
                    state.headers.removeAll { !$0.isHarmless }
                    state.isAtOrigin = false
                }
                state.request = state.request.redirected(status: state.metrics.httpStatus ?? 0)
                return (true, Ending?.none)
            case .restart:
                return (true, nil)
            case .end(let end):
                return (false, handOver(end, state))
            }
        }
        if goesOn { begin() }
        if let ending { onEnd(ending) }
    }

    /// An answer that was cut on our side is as good as a whole one.
    private func wholeEnough(
        _ result: Result<CurlSummary, CurlError>,
        _ state: Confined
    ) -> Result<CurlSummary, CurlError> {
        guard state.isCut, case .failure(let error) = result else { return result }
        return .success(error.summary)
    }

    private func handOver(_ end: DownloadStateMachine.End, _ state: Confined) -> Ending {
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

    private func checked(_ end: DownloadStateMachine.End, _ state: Confined) -> End {
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
                contentType: result.contentType,
                etag: result.etag,
                isLengthVerified: result.isLengthVerified && !state.isCut
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
        state.file?.bytesRead ?? (state.mayHaveArrived ? bytesToSend : 0)
    }

    private func timeLeft(_ state: Confined) -> Duration {
        claim.timeoutForResource - claim.elapsed - (.now - state.startedAt)
    }
}
