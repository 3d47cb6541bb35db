import Dispatch
import Foundation
import Glibc
import PollLoop

/// The number of threads that the process may still start.
///
/// Several limits bound it, of which some count what others have started: those of the container,
/// the user, the address space and the machine. So it is tried out.
enum ThreadLimit {
    /// The threads of an instance besides those for each processor and those that run transfers,
    /// and some to spare, such as for names that are looked up.
    ///
    /// SwiftNIO ends the process when it cannot start one of its own.
    private static let ofProgram = 34
    /// The threads for each processor: an event loop, one for files and one for tasks.
    private static let perProcessor = 3

    /// Checks that an instance could start all of its threads, of which some may run already.
    ///
    /// - Parameter transferThreads: the number of threads that run transfers.
    /// - Throws: ``TooFewThreads`` if it could not.
    static func check(transferThreads: Int) throws(TooFewThreads) {
        let needed = ofProgram + perProcessor * Processors.count + transferThreads
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
        let running = names?.count ?? 1
        let count = running + started(max(0, needed - running))
        if count < needed { throw TooFewThreads(count: count, needed: needed) }
    }

    /// Starts threads that only wait, as many of `count` as the process may have at once, and ends
    /// them.
    ///
    /// - Returns: their number.
    private static func started(_ count: Int) -> Int {
        let gate = DispatchSemaphore(value: 0)
        var threads: [pthread_t] = []
        while threads.count < count {
            let box = Unmanaged.passRetained(gate)
            var thread = pthread_t()
            guard pthread_create(&thread, nil, waitAtGate, box.toOpaque()) == 0 else {
                box.release()
                break
            }
            threads.append(thread)
        }
        for _ in threads { gate.signal() }
        // Their places are free when the next ones start.
        for thread in threads { pthread_join(thread, nil) }
        return threads.count
    }
}

private func waitAtGate(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<DispatchSemaphore>.fromOpaque(argument).takeRetainedValue().wait()
    return nil
}
