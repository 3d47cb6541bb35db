import Curl
import PollLoop
import Glibc
import Synchronization
import TransferContainer
import TransferModel

/// An attempt of an upload or data task: requests, redirects, and the answer in memory.
///
/// It is called on its curl loop's thread, except for `begin`, `abandon`, `mayBeRepeated` and
/// `progress`, which any thread may call; state that both sides touch is under the mutex, which
/// nobody holds while waiting for the disk.
final class Exchange: CurlSink, TransferAttempt {
    /// How the attempt has ended; a response comes with its body.
    enum End: Sendable {
        case finished(TransferResult, body: [UInt8])
        case failed(TransferFailure)
        case abandoned
    }

    let claim: TaskClaim
    private let url: CurlURL
    private let container: Container
    private let disk: BlockingPool<TenantID>
    let configuration: EngineConfiguration
    let onReached: @Sendable (TaskClaim) -> Void
    let onEnd: @Sendable (EndedExchange) -> Void
    /// The maximum number of bytes kept of an answer.
    let answerBytesMax: Int
    let connections: Connections
    let uploadResources: UploadResourceKeeper
    let state: Mutex<Confined>

    init(
        _ claim: TaskClaim,
        url: CurlURL,
        container: Container,
        disk: BlockingPool<TenantID>,
        configuration: EngineConfiguration,
        uploadResources: UploadResourceKeeper,
        mayBegin: @escaping @Sendable () -> Bool = { true },
        onReached: @escaping @Sendable (TaskClaim) -> Void,
        onEnd: @escaping @Sendable (EndedExchange) -> Void
    ) {
        self.claim = claim
        self.url = url
        self.container = container
        self.disk = disk
        self.configuration = configuration
        self.uploadResources = uploadResources
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
                    of: claim,
                    url: url,
                    deliversErrors: claim.options.deliversHTTPErrors ?? false
                ),
                source: claim.request.upload,
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
        case .staged: StagedBody.place(of: claim.task, tenant: claim.tenant)
        case .data, .copy, nil: nil
        }
    }

    /// Sends the first request, once the file to send is open.
    func begin(on loop: CurlLoop) {
        connections.begin(on: loop)
        // An attempt that was stopped before it started has nothing to open.
        guard let source, !connections.isAbandoned else {
            beginCopy()
            prepareUpload()
            return request()
        }
        disk.run(for: claim.tenant) { [self] in
            open(source)
            prepareUpload()
            request()
        }
    }

    /// Opens the file to send; waits for the disk.
    private func open(_ source: Container.Place) {
        do throws(StorageError) {
            let file = try UploadFile(source, in: container, holding: claim.copiedResult)
            state.withLock { $0.file = file }
        } catch {
            // A shortage on this machine says nothing about the file.
            let isItsOwn = [ENOENT, ENXIO, ENODEV].contains(error.errno)
            let failure =
                isItsOwn || error.failure.shortage == nil
                ? TransferFailure.sourceMissing(ofResult: claim.copiedResult != nil)
                : error.failure
            state.withLock { $0.machine.failed(failure) }
        }
    }

    /// Prepares the first request of an upload that its origin continues, once its body is known.
    private func prepareUpload() {
        // An upload that must not be done twice goes on as it has begun, whatever its options say.
        guard let dialect = claim.resumableUpload ?? claim.uploadResource?.dialect else { return }
        state.withLock { state in
            guard state.machine.mayRequest, !state.isCopyUnknown else { return }
            do throws(TransferFailure) {
                state.upload = try UploadStateMachine(
                    dialect,
                    of: claim,
                    url: url,
                    length: state.bytesToSend,
                    // What came with the task never changes.
                    body: state.file?.version ?? state.copied?.version(in: claim.fence) ?? "data"
                )
                state.beginStep(of: claim)
            } catch {
                state.machine.failed(error)
            }
        }
    }

    /// Sends the request, or gives the task back when no request may be made any more.
    func request() {
        if !connections.isOpen { abandon() }
        if let start = state.withLock({ $0.missingCopy }) { return openCopy(from: start) }
        let request: CurlRequest? = state.withLock { state in
            guard state.machine.mayRequest else { return nil }
            state.metrics.redirects = state.redirectsBefore + state.machine.redirects
            state.metrics.fetchStart = .now - state.startedAt
            var request = CurlRequest(
                url: state.machine.url,
                method: state.request.method,
                headers: state.headers.map { ($0.name, $0.value) },
                egress: configuration.egress
            )
            // After a redirect it is sent from where it began.
            let start = state.upload?.start ?? 0
            if case .data(let bytes) = state.request.upload {
                request.body = Array(bytes.dropFirst(Int(start)))
            }
            if state.request.upload != nil, let file = state.file {
                file.send(from: start)
                request.bodySource = file
            }
            request.httpVersion = .choice(
                for: claim.request.kind == .data ? .data : .file(size: state.sizeToSend)
            )
            request.apply(
                claim,
                remaining: timeLeft(state),
                isAtOrigin: state.isAtOrigin,
                cookies: state.cookies,
                userAgent: configuration.userAgent
            )
            if let upload = state.upload { request.isReplayable = upload.isRepeatable }
            if case .copy = state.request.upload {
                guard state.addCopy(to: &request) else { return nil }
            }
            return request
        }
        guard let request else { return connections.refuse(self) }
        connections.start(request, sink: self)
    }

    /// Does nothing, because an exchange has only one connection.
    func yieldConnection() {}

    func abandon() {
        state.withLock { $0.machine.abandoned() }
        connections.abandon()
    }

    var mayBeRepeated: Bool {
        claim.isIdempotent || state.withLock { $0.upload?.mayBeResumed ?? false }
    }

    var progress: AttemptStatus {
        state.withLock { $0.lastStatus ?? $0.status }
    }
}

/// A body that another origin sends.
extension Exchange {
    /// Takes up a copy where an earlier attempt has left it, or refuses one whose result is gone.
    private func beginCopy() {
        guard case .copy(let source) = claim.request.upload else { return }
        state.withLock { state in
            switch source {
            case .result:
                state.machine.failed(.sourceMissing(ofResult: true))
            case .remote:
                state.copied = claim.uploadResource.flatMap { resource in
                    SourceStream.Identity(version: resource.body)
                }
            }
        }
    }

    /// Asks the source for its body from `start` on, and sends the request when it has answered.
    private func openCopy(from start: Int64) {
        guard case .copy(.remote(let text, let headers)) = claim.request.upload else { return }
        do throws(TransferFailure) {
            let url: CurlURL
            do throws(CurlError) {
                url = try CurlURL(text)
            } catch {
                throw TransferFailure(error).ofSource
            }
            let (deadline, point) = try state.withLock { state throws(TransferFailure) in
                (ContinuousClock.now + timeLeft(state), try state.copyPoint(at: start))
            }
            let stream = SourceStream(
                url,
                headers: headers,
                of: claim,
                from: point,
                deadline: deadline,
                connections: connections,
                configuration: configuration
            ) { [self] in opened($0) }
            let former = state.withLock { state in
                defer { state.stream = stream }
                return state.stream
            }
            former?.close()
            stream.open()
        } catch {
            state.withLock { $0.machine.failed(error) }
            request()
        }
    }

    private func opened(_ result: Result<SourceStream.Identity, TransferFailure>) {
        let isNew = state.withLock { state in
            switch result {
            case .failure(let failure):
                state.machine.failed(failure)
                return false
            case .success(let identity):
                defer { state.copied = identity }
                guard identity != state.copied else { return false }
                if claim.resumableUpload != nil, identity.length == nil {
                    state.machine.failed(.sourceWithoutLength)
                } else if state.upload != nil, !claim.isIdempotent {
                    state.machine.failed(.sourceChangedMeanwhile)
                }
                return true
            }
        }
        // Bytes of another version are not appended to what the origin has: it begins again, unless
        // it must not.
        if isNew { prepareUpload() }
        request()
    }
}

extension TransferFailure {
    /// There is nothing to send: no file of the client's, or no result to copy.
    fileprivate static func sourceMissing(ofResult isResult: Bool) -> TransferFailure {
        TransferFailure(
            .sourceMissing,
            isResult
                ? "The result to copy is not kept any more." : "The file to upload cannot be read."
        )
    }
}
