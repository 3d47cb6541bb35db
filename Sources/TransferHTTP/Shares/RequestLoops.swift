import NIOCore
import Synchronization

/// The ``RequestTurns`` of each event loop that serves connections.
final class RequestLoops: Sendable {
    private let turns = Mutex<[ObjectIdentifier: RequestTurns]>([:])

    /// Returns the turns on `loop`, which must live as long as the process does.
    func turns(on loop: any EventLoop) -> RequestTurns {
        turns.withLock { turns in
            let id = ObjectIdentifier(loop)
            if let known = turns[id] { return known }
            let new = RequestTurns(on: loop)
            turns[id] = new
            return new
        }
    }
}
