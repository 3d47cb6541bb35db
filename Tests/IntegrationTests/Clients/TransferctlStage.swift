import ChildProcess
import Foundation
import TransferTestSupport

/// A service, and commands that use it.
struct TransferctlStage {
    let directory: DataDirectory
    let service: ServiceProcess
    let origin: LoopbackOrigin
    let folder: TestFolder

    init() async throws {
        directory = try DataDirectory()
        service = try await ServiceProcess(in: directory)
        origin = try LoopbackOrigin()
        folder = try TestFolder("transferctl")
    }

    /// The path of the command.
    static var program: String {
        URL(filePath: Program.path).deletingLastPathComponent().appending(path: "transferctl").path
    }

    private var environment: [String: String] {
        get throws {
            Program.environment.merging([
                "TRANSFERD_URL": "http://127.0.0.1:\(service.announcement.port)",
                "TRANSFERD_API_KEY": try directory.apiKey(),
                "TRANSFERCTL_CONFIG": "\(folder.path)/contexts.json",
            ]) { $1 }
        }
    }

    func start(
        _ arguments: [String],
        output: String,
        adding variables: [String: String] = [:]
    ) throws -> ChildProcess {
        try ChildProcess(
            Self.program,
            arguments,
            environment: try environment.merging(variables) { $1 },
            output: .overwriting("\(folder.path)/\(output)"),
            errors: .overwriting("\(folder.path)/\(output)-errors")
        )
    }

    func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
    }

    func run(
        _ arguments: [String],
        adding variables: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let status = await (try start(arguments, output: "out", adding: variables)).status()
        return (status, try text("out"))
    }

    /// Starts a command whose output nobody reads; what it says is in `out-errors`.
    func startUnread(_ arguments: [String]) throws -> ChildProcess {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let process = try ChildProcess(
            Self.program,
            arguments,
            environment: try environment,
            output: .descriptor(pipe.fileHandleForWriting.fileDescriptor),
            errors: .overwriting("\(folder.path)/out-errors")
        )
        try pipe.fileHandleForWriting.close()
        return process
    }

    /// Runs a command that is started without the standard descriptors, and returns its status.
    func runClosed(_ arguments: [String]) async throws -> Int32 {
        let process = try ChildProcess(
            "/bin/sh",
            ["-c", #"exec "$0" "$@" <&- >&- 2>&-"#, Self.program] + arguments,
            environment: try environment
        )
        return await process.status()
    }

    /// A command on a terminal of its own, and the way to its keyboard.
    struct Terminal {
        let process: ChildProcess
        /// With its reading end too, so that a key that comes after the command's end does no harm.
        fileprivate let keyboard: Pipe

        func press(_ keys: String) throws {
            try keyboard.fileHandleForWriting.write(contentsOf: Data(keys.utf8))
        }
    }

    /// Starts a command on a pseudo-terminal, which `script` makes.
    func terminal(_ arguments: [String], output: String) throws -> Terminal {
        let keyboard = Pipe()
        let process = try ChildProcess(
            "script",
            [
                "--quiet", "--flush", "--return", "--command",
                ([Self.program] + arguments).joined(separator: " "), "/dev/null",
            ],
            environment: try environment.merging(["TERM": "xterm"]) { $1 },
            input: keyboard.fileHandleForReading.fileDescriptor,
            output: .overwriting("\(folder.path)/\(output)"),
            errors: .discarded
        )
        return Terminal(process: process, keyboard: keyboard)
    }
}
