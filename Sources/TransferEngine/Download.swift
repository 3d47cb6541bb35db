import Curl
import Synchronization
import TransferModel

/// One attempt of a download: requests, redirects and the part file.
///
/// Called on its curl loop's thread, but for `start`, `abandon` and `progress`, which may come from
/// anywhere; what both touch is under the mutex.
final class Download: CurlSink {
    /// What an ended attempt hands over.
    struct Ending: Sendable {
        let claim: TaskClaim
        let end: DownloadStateMachine.End
        /// The file as far as it was written; nil when there is none.
        let part: PartFile?
        let bytesReceived: Int64
    }

    /// Bytes of an answer's body that are read for the sake of the connection alone.
    private static let discardMax = 64 * 1024
    /// Headers that say nothing about who asks, and so may follow to another origin.
    private static let harmlessHeaders: Set<String> = ["accept", "accept-language", "user-agent"]

    let claim: TaskClaim
    private let loop: CurlLoop
    private let container: Container
    private let configuration: EngineConfiguration
    private let onEnd: @Sendable (Ending) -> Void
    private let state: Mutex<Confined>

    private struct Confined {
        var machine: DownloadStateMachine
        var headers: [HTTPHeader]
        var part: PartFile?
        var isDiscarding = false
        var discarded = 0
        var bytesReceived: Int64 = 0
        var bytesExpected: Int64?
        var current: CurlTransfer?
        var isAbandoned = false
        let startedAt = ContinuousClock.now
    }

    init(
        _ claim: TaskClaim,
        url: CurlURL,
        loop: CurlLoop,
        container: Container,
        configuration: EngineConfiguration,
        onEnd: @escaping @Sendable (Ending) -> Void
    ) {
        self.claim = claim
        self.loop = loop
        self.container = container
        self.configuration = configuration
        self.onEnd = onEnd
        state = Mutex(
            Confined(
                machine: DownloadStateMachine(
                    url: url,
                    redirectsMax: EngineConfiguration.redirectsMax
                ),
                headers: claim.headers
            )
        )
    }

    /// Sends the request.
    func start(_ url: CurlURL) {
        let (headers, elapsed) = state.withLock { ($0.headers, .now - $0.startedAt) }
        var request = CurlRequest(
            url: url.absoluteString,
            headers: headers.map { ($0.name, $0.value) },
            egress: configuration.egress
        )
        request.inactivityTimeout = claim.timeoutForRequest
        request.totalTimeout = max(claim.timeoutForResource - elapsed, .milliseconds(1))
        request.bodyBytesMax = configuration.fileBytesMax
        let transfer = loop.start(request, sink: self)
        let isAbandoned = state.withLock { state in
            state.current = transfer
            return state.isAbandoned
        }
        if isAbandoned { transfer.cancel() }
    }

    /// Stops the attempt; `onEnd` follows with `abandoned`, or with what came first.
    func abandon() {
        let transfer = state.withLock { state in
            state.machine.abandoned()
            state.isAbandoned = true
            return state.current
        }
        transfer?.cancel()
    }

    /// Bytes received and expected so far.
    var progress: (received: Int64, expected: Int64?) {
        state.withLock { ($0.bytesReceived, $0.bytesExpected) }
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        state.withLock { state in
            switch state.machine.received(head) {
            case .receive:
                state.bytesExpected = head.contentLength
                return openPart(&state)
            case .discard:
                state.isDiscarding = true
                state.discarded = 0
                return .proceed
            case .abort: return .abort
            }
        }
    }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        state.withLock { state in
            guard !state.isDiscarding else {
                state.discarded += body.count
                return state.discarded <= Self.discardMax ? .proceed : .abort
            }
            guard let part = state.part else { return .abort }
            do throws(StorageError) {
                try part.write(body)
                state.bytesReceived = part.bytesWritten
                return .proceed
            } catch {
                state.machine.failed(error.failure)
                return .abort
            }
        }
    }

    func finish(_ result: Result<CurlSummary, CurlError>) {
        let (action, ending) = state.withLock { state in
            let action = state.machine.finished(result, bytesWritten: state.bytesReceived)
            switch action {
            case .follow(_, let dropsSecrets):
                state.isDiscarding = false
                if dropsSecrets {
                    state.headers.removeAll {
                        !Self.harmlessHeaders.contains($0.name.lowercased())
                    }
                }
                return (action, Ending?.none)
            case .end(let end):
                let part = state.part
                state.part = nil
                return (
                    action,
                    Ending(
                        claim: claim,
                        end: end,
                        part: part,
                        bytesReceived: state.bytesReceived
                    )
                )
            }
        }
        if case .follow(let url, _) = action { start(url) }
        if let ending { onEnd(ending) }
    }

    private func openPart(_ state: inout Confined) -> SinkVerdict {
        let path = ResultLocation.partPath(
            of: claim.task,
            destination: claim.destination,
            fence: claim.fence
        )
        do throws(StorageError) {
            state.part = try PartFile(
                Container.Place(path, tenant: claim.tenant),
                in: container
            )
            return .proceed
        } catch {
            state.machine.failed(error.failure)
            return .abort
        }
    }
}
