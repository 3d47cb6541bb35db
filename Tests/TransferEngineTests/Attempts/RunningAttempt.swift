import Curl
import Synchronization
import TransferModel

@testable import TransferEngine

/// An attempt that runs until its test ends it.
final class RunningAttempt: TransferAttempt {
    let claim: TaskClaim
    let connections = Connections()
    let received = Mutex<Int64>(5)
    private let loopBegunOn = Mutex<CurlLoop?>(nil)
    private let state = Mutex((isAbandoned: false, wanted: 0))
    var progress: AttemptStatus { AttemptStatus(received: received.withLock { $0 }) }
    var hasBegun: Bool { loop != nil }
    /// The loop that it was given; nil before it has begun.
    var loop: CurlLoop? { loopBegunOn.withLock(\.self) }
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }
    /// The number of connections that it was asked to give up and has not.
    var wanted: Int { state.withLock { $0.wanted } }
    init(_ claim: TaskClaim) { self.claim = claim }
    func begin(on loop: CurlLoop) { loopBegunOn.withLock { $0 = loop } }
    func yieldConnection() { state.withLock { $0.wanted += 1 } }
    func gaveUp() { state.withLock { $0.wanted -= 1 } }
    func abandon() {
        state.withLock { $0.isAbandoned = true }
        connections.abandon()
    }
}
