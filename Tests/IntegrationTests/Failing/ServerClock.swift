import ChildProcess
import Foundation
import TransferTestSupport

/// The clock of a service's own PostgreSQL, which a test can set.
final class ServerClock: Sendable {
    struct NotBuilt: Error {}

    /// The environment with which the service has to be started.
    let environment: [String: String]
    private let file: String
    private let folder: TestFolder

    /// Compiles the library that is loaded into the server.
    init() async throws {
        self.folder = try TestFolder("clock")
        let folder = folder.path
        let library = "\(folder)/clock.so"
        file = "\(folder)/clock"
        environment = ["LD_PRELOAD": library, "SERVER_CLOCK": file]
        let compiler = try ChildProcess(
            "/usr/bin/env",
            ["clang", "-shared", "-fPIC", "-O1", "-o", library, "\(Checkout.root)/Tests/clock.c"],
            environment: Program.environment,
            errors: .overwriting("\(folder)/clang.log")
        )
        guard await compiler.status() == 0 else { throw NotBuilt() }
        try Data(count: MemoryLayout<Int64>.size).write(to: URL(filePath: file))
        // The server may run as another user.
        for (path, mode) in [(folder, 0o755), (file, 0o644), (library, 0o644)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
    }

    /// Sets the clock ahead by `seconds`, in place: the server has mapped the file.
    func set(ahead seconds: Int64) throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        try withUnsafeBytes(of: seconds) { try handle.write(contentsOf: Data($0)) }
        try handle.close()
    }
}
