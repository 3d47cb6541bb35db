import Foundation
import Glibc
import Synchronization

/// Requests that do not end, over a number of connections, whatever is answered to them.
///
/// Its threads have the lowest priority: what a client of the service computes is no work of the
/// service.
final class Flood: Sendable {
    private let isOver = Atomic(false)
    private let answers = Atomic(0)
    private let group = DispatchGroup()

    private static let lowestPriority: Int32 = 19
    /// The pause after a lost connection.
    private static let pauseMicroseconds: UInt32 = 1000

    /// Starts to send `requests` in turn over each of `connections`.
    init(_ requests: [[UInt8]], to base: String, connections: Int) throws {
        let port = try LoadConnection.port(of: base)
        for number in 0..<connections {
            start { flood in
                var index = number
                while !flood.isOver.load(ordering: .relaxed) {
                    do {
                        let connection = try LoadConnection(to: port)
                        while !flood.isOver.load(ordering: .relaxed) {
                            index += 1
                            _ = try connection.exchange(requests[index % requests.count])
                            flood.answers.wrappingAdd(1, ordering: .relaxed)
                        }
                    } catch {
                        // Refusals may close the connection; the flood goes on over another.
                        usleep(Self.pauseMicroseconds)
                    }
                }
            }
        }
    }

    /// Starts as many `loops` that only compute.
    init(loops: Int) {
        for _ in 0..<loops {
            start { flood in
                while !flood.isOver.load(ordering: .relaxed) {}
            }
        }
    }

    private func start(_ body: @escaping @Sendable (Flood) -> Void) {
        group.enter()
        Thread.detachNewThread { [self] in
            // The calling thread alone: https://man7.org/linux/man-pages/man2/setpriority.2.html
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.lowestPriority)
            body(self)
            group.leave()
        }
    }

    /// Ends it and returns the number of answers.
    func stop() async -> Int {
        isOver.store(true, ordering: .relaxed)
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        return answers.load(ordering: .relaxed)
    }
}
