import Glibc
import Synchronization

/// A child process whose end a separate thread waits for.
///
/// Foundation's `Process` notices an end by a descriptor that children started at the same time
/// inherit, and so not before those have ended too: useless beside servers that keep running.
final class SpawnedProgram: Sendable {
    /// A failure to start the program.
    struct Failure: Error {
        /// `errno`.
        let code: Int32
    }

    private struct State {
        var status: Int32?
        var waiters: [CheckedContinuation<Int32, Never>] = []
    }

    private let identifier: pid_t
    /// The folder, held until the program has ended, because it uses files there until then.
    private let folder: TestFolder
    private let state = Mutex(State())

    /// Starts a program found in `PATH`.
    ///
    /// - Parameters:
    ///   - arguments: its name and arguments.
    ///   - folder: where it runs.
    ///   - environment: all of its environment.
    ///   - descriptors: its input, output and error output; nil for `/dev/null`.
    /// - Throws: ``Failure`` when it cannot be started.
    init(
        _ arguments: [String],
        in folder: TestFolder,
        environment: [String: String],
        descriptors: [Int32?]
    ) throws(Failure) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
            }
        }
        // The call that changes the folder of a child is missing in the Glibc module.
        let words = Self.vector(["env", "-C", folder.path] + arguments)
        let variables = Self.vector(environment.map { "\($0.key)=\($0.value)" })
        defer { for text in words + variables { free(text) } }
        var identifier = pid_t()
        // Threads that run tasks block all signals, and a child would inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let code = posix_spawnp(&identifier, "env", &actions, &attributes, words, variables)
        guard code == 0 else { throw Failure(code: code) }
        self.identifier = identifier
        self.folder = folder
        startThread { self.reap() }
    }

    /// Returns the exit status once the program has ended; it is not zero when it failed or was
    /// killed.
    func waitUntilExit() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status = state.withLock { state in
                if state.status == nil { state.waiters.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    /// Asks the program to end, unless it has ended.
    func terminate() {
        // Under the lock, so that the signal does not reach a process that has reused the number.
        state.withLock { state in
            if state.status == nil { _ = kill(identifier, SIGTERM) }
        }
    }

    private func reap() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) != 0, errno == EINTR
        {}
        var status: Int32 = 0
        let waiters = state.withLock { state in
            waitpid(identifier, &status, 0)
            state.status = status
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: status) }
    }

    private static func vector(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }
}
