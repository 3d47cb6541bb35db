import CLinux
import Foundation

/// A program that is run to its end, which blocks the calling thread meanwhile.
struct ChildProcess {
    /// The path of the program.
    let program: String
    let arguments: [String]
    /// The command that runs the program as another user; empty to run it as ourselves.
    let prefix: [String]

    /// The time limit; no program here takes longer, not even on a slow disk.
    static let timeout: Duration = .seconds(150)
    /// The number of bytes kept of a program's output: its last words.
    static let outputMax = 4096
    private static let pollInterval: useconds_t = 2_000

    /// Runs the program and throws when it fails.
    ///
    /// - Parameter statuses: exit statuses that are answers, not failures.
    /// - Returns: the exit status.
    /// - Throws: ``EmbeddedPostgresError/programFailed(program:status:output:)``, or the error that
    ///   kept it from running.
    @discardableResult
    func run(accepting statuses: Set<Int32> = [0]) throws(EmbeddedPostgresError) -> Int32 {
        let output = try Self.makeOutput()
        defer { close(output) }
        let process = try spawn(output: output)
        let status = waitForExit(of: process)
        guard statuses.contains(status) else {
            throw .programFailed(
                program: program,
                status: status,
                output: Self.lastWords(output)
            )
        }
        return status
    }

    /// Opens an unnamed file.
    ///
    /// With a pipe, a server that inherits it could make us wait for its end.
    private static func makeOutput() throws(EmbeddedPostgresError) -> Int32 {
        var template = Array("/tmp/transferd-output-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else {
            throw .system(operation: "mkstemp", path: "/tmp", errno: errno)
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(template)
        return descriptor
    }

    private func spawn(output: Int32) throws(EmbeddedPostgresError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        // A server outlives us. Some of the descriptors that libraries open here, such as listening
        // sockets, are inherited, and would keep the port of a service that is long gone.
        let code = clinux_spawn_close_from(&actions, 3)
        guard code == 0 else {
            throw .system(operation: "posix_spawn_file_actions", path: program, errno: code)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Our threads block signals, and a server that inherits that cannot be stopped.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        // The account of the server may be unable to enter our current directory.
        let command = ["/usr/bin/env", "-C", "/"] + prefix + [program] + arguments
        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = Self.environment.map { strdup($0) } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var process = pid_t()
        let failure = posix_spawn(
            &process,
            command[0],
            &actions,
            &attributes,
            &words,
            &variables
        )
        guard failure == 0 else {
            throw .system(operation: "posix_spawn", path: program, errno: failure)
        }
        return process
    }

    /// Our environment in plain English, without `PG*`, which would lead to another cluster.
    private static var environment: [String] {
        ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("PG") && !$0.key.hasPrefix("LC_") && $0.key != "LANG" }
            .map { "\($0.key)=\($0.value)" } + ["LC_ALL=C"]
    }

    /// Returns the exit status; 128 and more after a signal, as in a shell.
    private func waitForExit(of process: pid_t) -> Int32 {
        let deadline = ContinuousClock.now.advanced(by: Self.timeout)
        var status: Int32 = 0
        while true {
            let answer = waitpid(process, &status, WNOHANG)
            if answer == process { break }
            if answer < 0, errno != EINTR { return -1 }
            if ContinuousClock.now >= deadline { kill(process, SIGKILL) }
            usleep(Self.pollInterval)
        }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    private static func lastWords(_ output: Int32) -> String {
        let end = lseek(output, 0, SEEK_END)
        var bytes = [UInt8](repeating: 0, count: outputMax)
        let count = pread(output, &bytes, outputMax, max(0, end - off_t(outputMax)))
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
