import Foundation
import Synchronization
import TransferClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request of a `URLSession` and its response.
final class Exchange: Sendable {
    private let state: Mutex<ExchangeStateMachine>

    init(waitingBytesMax: Int) {
        state = Mutex(ExchangeStateMachine(waitingBytesMax: waitingBytesMax))
    }

    /// Sends the request, and returns the head of its response.
    ///
    /// - Throws: ``TransportFailure`` when there is none `within` this time.
    func start(
        _ task: URLSessionDataTask,
        within limit: Duration
    ) async throws(TransportFailure) -> HTTPURLResponse {
        // It belongs to this call, which ends it whatever comes of the request.
        let alarm = Task {
            try await Task.sleep(for: limit)
            let failure = TransportFailure(.timedOut, "The service did not respond in time.")
            perform(state.withLock { $0.headIsLate(failure) })
        }
        defer { alarm.cancel() }
        let head = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                perform(state.withLock { $0.start(task, waiter) })
            }
        } onCancel: {
            stop(Self.cancelled)
        }
        return try head.get()
    }

    /// Returns the bytes that have arrived since the last call, waiting for some; nil at the end.
    func next() async throws(TransportFailure) -> [UInt8]? {
        let part = await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                perform(state.withLock { $0.read(reader) })
            }
        } onCancel: {
            stop(Self.cancelled)
        }
        return try part.get()
    }

    func headReceived(_ response: HTTPURLResponse) {
        perform(state.withLock { $0.headReceived(response) })
    }

    func bytesReceived(_ data: Data) { perform(state.withLock { $0.bytesReceived(data) }) }

    /// The request has ended by itself.
    func ended(_ failure: TransportFailure?) { perform(state.withLock { $0.ended(failure) }) }

    /// Ends the request, of which nobody wants to know any more.
    func abandon() { stop(Self.cancelled) }

    private func stop(_ failure: TransportFailure) {
        perform(state.withLock { $0.stop(failure) })
    }

    private func perform(_ action: ExchangeStateMachine.Action) {
        for step in action.steps {
            switch step {
            case .resume(let task): task.resume()
            case .cancel(let task): task.cancel()
            case .tellHead(let waiter, let head): waiter.resume(returning: head)
            case .tellPart(let reader, let part): reader.resume(returning: part)
            }
        }
    }

    private static let cancelled = TransportFailure(.cancelled, "The request was cancelled.")
}
