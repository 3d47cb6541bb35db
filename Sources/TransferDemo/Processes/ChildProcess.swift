import Foundation
import Glibc
import Synchronization

/// A program that runs beside this one.
///
/// It is started and awaited by system calls: Foundation's `Process` considers a program running as
/// long as anything that it has started runs, as a database does after its service was killed.
final class ChildProcess: Sendable {
    /// The way in which a process ended.
    enum Exit: Sendable, Equatable, CustomStringConvertible {
        case status(Int32)
        case signal(Int32)

        /// Reads the status that `waitpid` returns for a process that has ended.
        init(waitStatus: Int32) {
            let signal = waitStatus & 0x7F
            self = signal == 0 ? .status(waitStatus >> 8 & 0xFF) : .signal(signal)
        }

        var description: String {
            switch self {
            case .status(let status): "exit status \(status)"
            case .signal(let signal): "ended by signal \(signal)"
            }
        }
    }

    /// The length of the longest first line that is accepted.
    private static let lineBytesMax = 64 * 1024

    let pid: pid_t
    /// The output, which is closed with its last reference.
    private let outputFile: FileHandle
    private let output: AsyncStream<Data>
    private let exit: Task<Exit, Never>
    /// The guard that keeps signals from a later process with the same number.
    private let reaping: Reaping

    /// Starts the program.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - arguments: without the program itself.
    ///   - environment: the whole of it.
    ///   - log: the file for what it writes to standard error.
    /// - Throws: ``DemoError`` when it cannot be run.
    init(
        program: String,
        arguments: [String],
        environment: [String: String],
        log: String
    ) throws(DemoError) {
        let pipe = Pipe()
        let write = pipe.fileHandleForWriting
        defer { try? write.close() }
        let pid = try Self.spawn(
            [program] + arguments,
            environment: environment.map { "\($0.key)=\($0.value)" },
            output: write.fileDescriptor,
            log: log
        )
        self.pid = pid
        outputFile = pipe.fileHandleForReading
        output = Self.chunks(of: outputFile)
        let reaping = Reaping()
        self.reaping = reaping
        let (exits, continuation) = AsyncStream.makeStream(of: Exit.self)
        Thread.detachNewThread {
            continuation.yield(reaping.wait(for: pid))
            continuation.finish()
        }
        // Not structured: a task that waits for the end may be cancelled, and still has to wait.
        exit = Task {
            for await exit in exits { return exit }
            return .status(-1)
        }
    }

    /// Reads the first line of standard output, or the part of it before the output ends.
    ///
    /// - Returns: the line without its end.
    /// - Throws: `CancellationError`.
    func firstLine() async throws -> Data {
        var line = Data()
        for await chunk in output {
            line.append(chunk)
            if let end = line.firstIndex(of: UInt8(ascii: "\n")) { return line[..<end] }
            if line.count > Self.lineBytesMax { break }
        }
        try Task.checkCancellation()
        return line
    }

    /// Sends SIGTERM, and SIGKILL to a process that is still there after `timeout`.
    ///
    /// Cancelling the task changes nothing: a started process is always waited for.
    ///
    /// - Parameter timeout: what the process gets for ending in order.
    /// - Returns: how it ended, now or before.
    func stop(within timeout: Duration) async -> Exit {
        reaping.signal(pid, SIGTERM)
        let kill = DispatchWorkItem { [reaping, pid] in reaping.signal(pid, SIGKILL) }
        DispatchQueue.global()
            .asyncAfter(
                deadline: .now() + .seconds(Int(timeout.components.seconds)),
                execute: kill
            )
        defer { kill.cancel() }
        return await exit.value
    }

    private static func spawn(
        _ command: [String],
        environment: [String],
        output: Int32,
        log: String
    ) throws(DemoError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, flags, 0o600)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads here block signals, which a program would inherit. It also gets its own group,
        // so that on Ctrl-C we end it in order.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP)
        )
        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, command[0], &actions, &attributes, &words, &variables)
        guard code == 0 else {
            throw .serviceNotStarted(reason: "\(command[0]): \(String(cString: strerror(code)))")
        }
        return pid
    }

    private static func chunks(of file: FileHandle) -> AsyncStream<Data> {
        let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
        file.readabilityHandler = { file in
            let data = file.availableData
            if data.isEmpty {
                file.readabilityHandler = nil
                continuation.finish()
            } else {
                continuation.yield(data)
            }
        }
        return stream
    }
}

/// Waits for one process, and keeps signals from a later process with the same number.
private final class Reaping: Sendable {
    private let hasEnded = Mutex(false)

    /// Blocks until the process has ended.
    func wait(for pid: pid_t) -> ChildProcess.Exit {
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        return hasEnded.withLock { hasEnded in
            hasEnded = true
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            return ChildProcess.Exit(waitStatus: status)
        }
    }

    /// Sends a signal; does nothing once the process has ended.
    func signal(_ pid: pid_t, _ number: Int32) {
        hasEnded.withLock { hasEnded in
            if !hasEnded { _ = kill(pid, number) }
        }
    }
}
