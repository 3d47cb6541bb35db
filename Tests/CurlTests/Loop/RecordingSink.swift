import Curl
import Synchronization

/// A sink that keeps everything that a transfer reports, and lets a test wait for its end.
final class RecordingSink: CurlSink {
    struct Record {
        var informational: [ResponseHead] = []
        var heads: [ResponseHead] = []
        var body: [UInt8] = []
        var results: [Result<CurlSummary, CurlError>] = []
    }

    private struct State {
        var record = Record()
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let verdictAtHead: SinkVerdict
    private let whenHeadArrives: @Sendable () -> Void
    private let whenFinished: @Sendable () -> Void

    init(
        verdictAtHead: SinkVerdict = .proceed,
        whenHeadArrives: @escaping @Sendable () -> Void = {},
        whenFinished: @escaping @Sendable () -> Void = {}
    ) {
        self.verdictAtHead = verdictAtHead
        self.whenHeadArrives = whenHeadArrives
        self.whenFinished = whenFinished
    }

    var record: Record { state.withLock { $0.record } }

    /// The first result, as soon as there is one.
    var result: Result<CurlSummary, CurlError>? {
        get async {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.record.results.isEmpty { state.waiters.append(continuation) }
                    return !state.record.results.isEmpty
                }
                if isDone { continuation.resume() }
            }
            return record.results.first
        }
    }

    func receive(informational head: ResponseHead) {
        state.withLock { $0.record.informational.append(head) }
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        state.withLock { $0.record.heads.append(head) }
        whenHeadArrives()
        return verdictAtHead
    }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        state.withLock { $0.record.body += body }
        return .proceed
    }

    func finish(_ result: Result<CurlSummary, CurlError>) {
        let waiters = state.withLock { state in
            state.record.results.append(result)
            defer { state.waiters = [] }
            return state.waiters
        }
        whenFinished()
        for waiter in waiters { waiter.resume() }
    }
}

extension Result<CurlSummary, CurlError> {
    /// The code of a failure.
    var code: CurlError.Code? {
        guard case .failure(let error) = self else { return nil }
        return error.code
    }
}

extension EgressGuard {
    /// A guard that allows every address.
    static let everywhere = EgressGuard { _ in true }
    /// A guard that allows no address.
    static let nowhere = EgressGuard { _ in false }
}
