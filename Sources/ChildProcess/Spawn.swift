import CLinux
import Glibc

/// A call of posix_spawnp(3).
struct Spawn {
    /// The program and its arguments.
    let command: [String]
    let environment: [String: String]
    let input: Int32?
    let output: ChildProcess.Output
    let errors: ChildProcess.Output
    let further: Int32?
    let isGroupLeader: Bool

    /// The permissions of the files that it makes.
    private static let fileMode: mode_t = 0o600

    /// Starts the program.
    ///
    /// - Returns: the process identifier.
    /// - Throws: ``ChildProcess/StartError`` when the system refuses.
    func start() throws(ChildProcess.StartError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        try check(addDescriptors(to: &actions))
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads that run tasks block signals. A child that inherits that cannot be stopped.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        let group = isGroupLeader ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | group))
        let words = Self.vector(command)
        let variables = Self.vector(environment.map { "\($0.key)=\($0.value)" })
        defer { for text in words + variables { free(text) } }
        var pid = pid_t()
        try check(posix_spawnp(&pid, command[0], &actions, &attributes, words, variables))
        return pid
    }

    /// Says which descriptors the child has, and returns an error number.
    private func addDescriptors(to actions: inout posix_spawn_file_actions_t) -> Int32 {
        var codes: [Int32] = []
        if let input {
            codes.append(posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO))
        } else {
            codes.append(Self.open("/dev/null", O_RDONLY, as: STDIN_FILENO, in: &actions))
        }
        codes.append(Self.add(output, as: STDOUT_FILENO, to: &actions))
        codes.append(Self.add(errors, as: STDERR_FILENO, to: &actions))
        var lowest: Int32 = 3
        // Last, because number 3 may be one of those above.
        if let further {
            codes.append(posix_spawn_file_actions_adddup2(&actions, further, lowest))
            lowest += 1
        }
        // A child may outlive us. Some of the descriptors that libraries open here, such as
        // listening sockets, are inherited, and would keep the port of a service that has ended.
        codes.append(clinux_spawn_close_from(&actions, lowest))
        return codes.first { $0 != 0 } ?? 0
    }

    private static func add(
        _ output: ChildProcess.Output,
        as number: Int32,
        to actions: inout posix_spawn_file_actions_t
    ) -> Int32 {
        switch output {
        case .discarded: open("/dev/null", O_WRONLY, as: number, in: &actions)
        case .overwriting(let path):
            open(path, O_WRONLY | O_CREAT | O_TRUNC, as: number, in: &actions)
        case .appending(let path):
            open(path, O_WRONLY | O_CREAT | O_APPEND, as: number, in: &actions)
        case .descriptor(let descriptor):
            posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        case .piped: EINVAL
        }
    }

    private static func open(
        _ path: String,
        _ flags: Int32,
        as number: Int32,
        in actions: inout posix_spawn_file_actions_t
    ) -> Int32 {
        posix_spawn_file_actions_addopen(&actions, number, path, flags, fileMode)
    }

    private func check(_ code: Int32) throws(ChildProcess.StartError) {
        guard code == 0 else { throw ChildProcess.StartError(program: command[0], code: code) }
    }

    private static func vector(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }
}
