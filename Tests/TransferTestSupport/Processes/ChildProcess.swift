package import Foundation
import Glibc
import Synchronization

/// A child process, from its start to its end.
///
/// Foundation's class is unsuitable: it considers a process running as long as any descendant is,
/// such as a database that survives the service that started it.
package final class ChildProcess: Sendable {
    /// The system's refusal to start it.
    package struct SpawnError: Error {
        /// The program that was to start.
        package let program: String
        /// The error number.
        package let code: Int32
    }

    private struct State {
        var status: Int32?
        var waiters: [CheckedContinuation<Int32, Never>] = []
    }

    /// The process identifier.
    package let pid: pid_t
    /// The output of the process.
    package let output: FileHandle
    private let state = Mutex(State())

    /// Starts `program`, whose standard error overwrites the file `log`.
    package init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String],
        log: String
    ) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SpawnError(program: program, code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        output = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        var settings = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + settings { free(text) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, program, &actions, nil, &words, &settings)
        guard code == 0 else { throw SpawnError(program: program, code: code) }
        pid = child
        Thread.detachNewThread { [self, child] in
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            record(status)
        }
    }

    /// Waits for the process to end.
    ///
    /// - Returns: the exit status, or 128 plus the number of the signal that killed it.
    package func status() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status = state.withLock { state in
                if state.status == nil { state.waiters.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    /// Sends a signal unless the process has ended.
    package func signal(_ signal: Int32) {
        // Under the lock, so that the signal does not reach a process that has reused the number.
        state.withLock { state in
            if state.status == nil { kill(pid, signal) }
        }
    }

    /// Returns the next bytes of its output up to the end of a line; nil at the end of its output.
    package func line() async -> Data? {
        let (lines, continuation) = AsyncStream<Data>.makeStream()
        Thread.detachNewThread { [output] in
            var line = Data()
            while !line.contains(UInt8(ascii: "\n")) {
                let data = output.availableData
                guard !data.isEmpty else { break }
                line += data
            }
            if !line.isEmpty { continuation.yield(line) }
            continuation.finish()
        }
        return await lines.first { _ in true }
    }

    /// Records a status as in wait(2).
    private func record(_ status: Int32) {
        let isKilled = status & 0x7F != 0
        let code = isKilled ? 128 + (status & 0x7F) : (status >> 8) & 0xFF
        let waiters = state.withLock { state in
            state.status = code
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: code) }
    }
}
