import ArgumentParser
import Foundation
import Glibc
import Synchronization

/// `transferd-bench flood`: requests that do not end, whatever is answered to them.
///
/// What a client of the service computes is no work of the service, so it is a program of its own,
/// below all others: with a priority alone it would yield to its own session, not to a PostgreSQL
/// in another one (sched(7), "The autogroup feature").
struct Flood: AsyncParsableCommand {
    static let name = "flood"

    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Send requests until the standard input ends, then print how many were answered.",
        shouldDisplay: false
    )

    @Option(help: "The service's port on 127.0.0.1.")
    var port: UInt16 = 0

    @Option(help: "Connections, each with one request at a time.")
    var connections = 0

    @Option(help: "Threads that only compute.")
    var loops = 0

    @Argument(help: "Files, each with a request as it is sent; they are sent in turn.")
    var files: [String] = []

    private static let lowestPriority: Int32 = 19
    /// SCHED_IDLE, which Glibc's module does not have: sched(7).
    private static let idlePolicy: Int32 = 5
    /// The pause after a lost connection.
    private static let pauseMicroseconds: UInt32 = 1000

    func run() async throws {
        Self.lowerSession()
        let requests = try files.map { [UInt8](try Data(contentsOf: URL(filePath: $0))) }
        let state = State()
        for number in 0..<connections {
            Self.start { send(requests, from: number, state) }
        }
        for _ in 0..<loops {
            Self.start { while !state.isOver.load(ordering: .relaxed) {} }
        }
        _ = try FileHandle.standardInput.readToEnd()
        state.isOver.store(true, ordering: .relaxed)
        print(state.answers.load(ordering: .relaxed))
    }

    private final class State: Sendable {
        let isOver = Atomic(false)
        let answers = Atomic(0)
    }

    private func send(_ requests: [[UInt8]], from number: Int, _ state: State) {
        var index = number
        while !state.isOver.load(ordering: .relaxed) {
            do {
                let connection = try LoadConnection(to: port)
                while !state.isOver.load(ordering: .relaxed) {
                    index += 1
                    _ = try connection.exchange(requests[index % requests.count])
                    state.answers.wrappingAdd(1, ordering: .relaxed)
                }
            } catch {
                // Refusals may close the connection; the flood goes on over another.
                usleep(Self.pauseMicroseconds)
            }
        }
    }

    /// Begins a session whose whole group of threads is below those of other sessions.
    private static func lowerSession() {
        setsid()
        // A kernel without autogroups has no such file, and needs none.
        let group = FileHandle(forWritingAtPath: "/proc/self/autogroup")
        try? group?.write(contentsOf: Data("\(lowestPriority)".utf8))
    }

    private static func start(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            // The calling thread alone: https://man7.org/linux/man-pages/man2/setpriority.2.html
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, lowestPriority)
            var none = sched_param()
            sched_setscheduler(0, idlePolicy, &none)
            body()
        }
    }
}
