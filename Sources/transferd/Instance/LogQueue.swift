import Dispatch
import Foundation
import Glibc
import PollLoop
import Synchronization

/// Lines on their way to a descriptor whose reader may be slow or stalled.
///
/// A thread of its own writes them in their order, so that nobody who logs waits for the reader.
/// When too many wait, further ones are dropped, and a line in their place says how many.
final class LogQueue: Sendable {
    /// The way to standard error of all lines that this process logs.
    static let standardError = LogQueue(STDERR_FILENO)

    /// The bytes of lines that wait at most.
    static let bytesMaxDefault = 1 << 20
    /// The longest wait at the end of the process for a reader to take what is left.
    static let drainMax: Duration = .seconds(1)

    private struct State {
        var lines: [Data] = []
        /// Of ``lines`` and of those that the thread is writing.
        var bytes = 0
        /// The number of lines dropped since the thread last took all lines.
        var dropped = 0
        var hasThread = false
        /// Whether the thread waits for a wake-up that nobody has sent yet.
        var isIdle = false
        /// Who waits until nothing is left.
        var drains: [DispatchSemaphore] = []

        var isEmpty: Bool { bytes == 0 && dropped == 0 }
    }

    private let descriptor: Int32
    private let bytesMax: Int
    private let state = Mutex(State())
    private let wakeups = DispatchSemaphore(value: 0)

    /// Creates a queue; its thread starts with the first line.
    init(_ descriptor: Int32, bytesMax: Int = bytesMaxDefault) {
        self.descriptor = descriptor
        self.bytesMax = bytesMax
    }

    /// Adds a line, with its end, or drops it; never waits.
    func append(_ line: Data) {
        let (mustStart, mustWake) = state.withLock { state in
            // After a dropped one, none is taken before the line that says so has its place.
            if state.dropped == 0, state.bytes + line.count <= bytesMax {
                state.lines.append(line)
                state.bytes += line.count
            } else {
                state.dropped += 1
            }
            defer {
                state.hasThread = true
                state.isIdle = false
            }
            return (!state.hasThread, state.isIdle)
        }
        if mustStart { start() }
        if mustWake { wakeups.signal() }
    }

    /// Blocks until all lines are on the descriptor, but not beyond `limit`.
    func drain(within limit: Duration = drainMax) {
        let done = DispatchSemaphore(value: 0)
        let mustWait = state.withLock { state in
            guard !state.isEmpty else { return false }
            state.drains.append(done)
            return true
        }
        guard mustWait else { return }
        _ = done.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1))))
    }

    private func start() {
        do {
            try BlockingThread.start(name: "log") { self.run() }
        } catch {
            // The process may have no more threads now; the next line tries again.
            state.withLock { $0.hasThread = false }
        }
    }

    private func run() {
        while true {
            let lines = take()
            if lines.isEmpty { wakeups.wait() }
            for line in lines {
                put(line)
                state.withLock { $0.bytes -= line.count }
            }
        }
    }

    /// Writes a line, however long its reader takes.
    private func put(_ line: Data) {
        line.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count >= 0 {
                    written += count
                } else if errno == EAGAIN {
                    // Another process that shares the descriptor may have made it non-blocking.
                    var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&room, 1, -1)
                } else if errno != EINTR {
                    // A reader that has gone away, or a full disk, is no reason to stop anything.
                    return
                }
            }
        }
    }

    /// Takes all lines, with the one about those that were dropped after them.
    private func take() -> [Data] {
        state.withLock { state in
            var lines = state.lines
            state.lines = []
            if state.dropped > 0, let line = JSONLogHandler.line(ofDropped: state.dropped) {
                lines.append(line)
                state.bytes += line.count
            }
            state.dropped = 0
            if lines.isEmpty {
                state.isIdle = true
                for drain in state.drains { drain.signal() }
                state.drains = []
            }
            return lines
        }
    }
}
