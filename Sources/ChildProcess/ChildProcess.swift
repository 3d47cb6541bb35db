import Dispatch
package import Foundation
import Glibc
import Synchronization

/// A program that runs beside this one, from its start to its end.
///
/// A thread waits for the end of this process alone: Foundation's `Process` considers a program
/// running as long as a descendant is, such as a database that survives the service that started
/// it. `swift-subprocess` does not fit either (docs/decisions/0034).
package final class ChildProcess: Sendable {
    /// The process identifier.
    package let pid: pid_t
    /// The output of the process; empty unless it is ``Output/piped``.
    package let output: FileHandle
    private let isGroupLeader: Bool
    private let end = Mutex<Exit?>(nil)
    /// The group that is empty once ``end`` is known.
    private let running = DispatchGroup()
    /// Tells callers of ends.
    ///
    /// A serial queue: the threads of a concurrent one can end a process that lacks descriptors
    /// (docs/decisions/0080).
    private static let ends = DispatchQueue(label: "child-process")

    /// The number of bytes after which a line is returned although it has not ended.
    private static let lineBytesMax = 64 * 1024

    /// Starts a program with no input, no blocked signals and no descriptors but those named here.
    ///
    /// - Parameters:
    ///   - program: its path, or a name found in `PATH`.
    ///   - arguments: without the program itself.
    ///   - folder: its working directory; nil for that of this process.
    ///   - environment: the whole of it.
    ///   - input: a descriptor that it reads; nil for none.
    ///   - output: the destination of its standard output.
    ///   - errors: the destination of its standard error.
    ///   - further: a descriptor that it receives as number 3.
    ///   - isGroupLeader: whether it gets a process group of its own, which a Ctrl-C in the
    ///     terminal does not reach and which ends as a whole when the process has to be killed.
    ///   - resource: a value held until the end, such as a folder in which the program works.
    /// - Throws: ``StartError`` when the system refuses. A program that is missing in `folder` ends
    ///   with status 127 instead.
    package init(
        _ program: String,
        _ arguments: [String] = [],
        in folder: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        input: Int32? = nil,
        output: Output = .discarded,
        errors: Output = .discarded,
        passing further: Int32? = nil,
        isGroupLeader: Bool = false,
        holding resource: (any Sendable)? = nil
    ) throws(StartError) {
        let pipe = try output == .piped ? Self.makePipe(for: program) : nil
        // Only the child has the other end, so that the output ends with the process.
        defer { if let pipe { close(pipe.write) } }
        self.output = pipe?.read ?? .nullDevice
        let spawn = Spawn(
            // The call that changes the folder of a child is missing in the Glibc module.
            command: (folder.map { ["/usr/bin/env", "-C", $0] } ?? []) + [program] + arguments,
            environment: environment,
            input: input,
            output: pipe.map { .descriptor($0.write) } ?? output,
            errors: errors,
            further: further,
            isGroupLeader: isGroupLeader
        )
        pid = try spawn.start()
        self.isGroupLeader = isGroupLeader
        running.enter()
        Thread.detachNewThread { [self] in
            reap()
            withExtendedLifetime(resource) {}
        }
    }

    /// Waits for the end of the process, and returns it.
    ///
    /// Cancelling the task changes nothing: a started process is always waited for.
    package func exit() async -> Exit {
        await withCheckedContinuation { continuation in
            running.notify(queue: Self.ends) { continuation.resume() }
        }
        return end.withLock { $0 } ?? .unknown
    }

    /// Waits for the end of the process, and returns ``Exit/shellStatus``.
    package func status() async -> Int32 { await exit().shellStatus }

    /// Blocks the calling thread until the process has ended, and kills it after `timeout`.
    @discardableResult
    package func waitUntilExit(timeout: Duration? = nil) -> Exit {
        if let timeout, running.wait(timeout: Self.time(after: timeout)) == .timedOut { kill() }
        running.wait()
        return end.withLock { $0 } ?? .unknown
    }

    /// Sends SIGTERM, and kills a process that is still there after `timeout`.
    ///
    /// - Parameter timeout: the time in which the process can end in order.
    /// - Returns: its end, now or before.
    @discardableResult
    package func stop(within timeout: Duration) async -> Exit {
        signal(SIGTERM)
        let killing = Task {
            try await Task.sleep(for: timeout)
            kill()
        }
        defer { killing.cancel() }
        return await exit()
    }

    /// Sends a signal to the process, but not to its group, unless it has ended.
    package func signal(_ number: Int32) { send(number, to: pid) }

    /// Kills the process and, if it leads a group, the group; does nothing once it has ended.
    package func kill() { send(SIGKILL, to: isGroupLeader ? -pid : pid) }

    /// Returns the next bytes of its output, to the end of a line if there is one within 64 KiB;
    /// nil at the end of the output.
    package func line() async -> Data? {
        let (lines, continuation) = AsyncStream<Data>.makeStream()
        Thread.detachNewThread { [output] in
            var line = Data()
            while !line.contains(UInt8(ascii: "\n")), line.count < Self.lineBytesMax {
                let data = output.availableData
                guard !data.isEmpty else { break }
                line += data
            }
            if !line.isEmpty { continuation.yield(line) }
            continuation.finish()
        }
        return await lines.first { _ in true }
    }

    private func send(_ signal: Int32, to target: pid_t) {
        // Under the lock, so that the signal does not reach a process that has reused the number.
        end.withLock { end in
            if end == nil { _ = Glibc.kill(target, signal) }
        }
    }

    /// Blocks until the process has ended, and records its end.
    private func reap() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        end.withLock { end in
            var status: Int32 = 0
            var answer: pid_t
            repeat { answer = waitpid(pid, &status, 0) } while answer < 0 && errno == EINTR
            end = answer == pid ? Exit(waitStatus: status) : .unknown
        }
        running.leave()
    }

    private static func makePipe(
        for program: String
    ) throws(StartError) -> (read: FileHandle, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw StartError(program: program, code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (FileHandle(fileDescriptor: ends[0], closeOnDealloc: true), ends[1])
    }

    private static func time(after timeout: Duration) -> DispatchTime {
        .now() + .milliseconds(Int(timeout / .milliseconds(1)))
    }
}
