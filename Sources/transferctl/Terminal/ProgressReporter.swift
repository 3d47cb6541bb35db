import Synchronization
import TransferWire

/// Shows progress: live on a terminal, and as plain lines where there is none.
final class ProgressReporter: Sendable {
    /// The time between two drawings; what changes in between is drawn once.
    private static let drawInterval: Duration = .milliseconds(200)
    /// The time between two plain lines about the whole.
    private static let plainInterval: Duration = .seconds(10)
    /// The most transfers about which there is a line of their own on a terminal; of failures, the
    /// most anywhere.
    static let linesMax = 20

    /// Whether there is a terminal.
    var isLive: Bool { screen != nil }

    private let screen = Screen()
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private let progress: Mutex<TransferProgress>
    private let failures = Mutex(0)
    private let refusals = Mutex(0)

    /// Starts without transfers.
    init() {
        start = clock.now
        progress = Mutex(TransferProgress(at: 0))
    }

    /// Starts with what a session has.
    init(_ session: SessionDocument) {
        start = clock.now
        progress = Mutex(TransferProgress(session, at: 0))
    }

    /// What is known now.
    var current: TransferProgress { progress.withLock { $0 } }

    /// Whether the service refused a transfer, or could not be reached for it.
    var hasRefusals: Bool { refusals.withLock { $0 > 0 } }

    /// Changes what is known; the second argument is the time.
    func update(_ change: (inout TransferProgress, Double) -> Void) {
        progress.withLock { change(&$0, time) }
    }

    /// Prints a line for people about a transfer that ended, if there is room for it.
    func note(_ line: String) {
        let line = TerminalText.safe(line)
        if let screen { screen.note(line) } else { Output.complain(line) }
    }

    /// Tells of a failed transfer, and from a certain number on only which command lists them.
    func noteFailure(_ line: String, listing command: String) {
        let count = failures.withLock { failures in
            failures += 1
            return failures
        }
        if count <= Self.linesMax { note(line) }
        if count == Self.linesMax + 1 {
            note("More have failed: \(command)")
        }
    }

    /// Counts a transfer that the service refused, or for which it could not be reached.
    func countRefusal() { refusals.withLock { $0 += 1 } }

    /// Runs work, and shows how far it is until it ends.
    func whileShowing<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        defer { screen?.clear() }
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                await self.show()
                return nil
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw CancellationError()
        }
    }

    private func show() async {
        var last = ""
        while true {
            do {
                try await clock.sleep(for: isLive ? Self.drawInterval : Self.plainInterval)
            } catch {
                return
            }
            let progress = current
            if let screen {
                let size = screen.size
                let lines = ProgressLines(columns: size.columns, rows: size.rows)
                screen.draw(lines.lines(progress, at: time))
            } else {
                let line = ProgressLines(columns: 0, rows: 0).whole(progress, at: time)
                if line != last { Output.complain(line) }
                last = line
            }
        }
    }

    private var time: Double { start.duration(to: clock.now) / .seconds(1) }
}
