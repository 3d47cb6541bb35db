import ChildProcess
import Foundation
import TransferTestSupport

/// A library of `Tests` that changes what the C library does, in the programs that load it.
final class PreloadedLibrary: Sendable {
    struct NotBuilt: Error {}

    /// The path of the library.
    let path: String
    private let folder: TestFolder

    /// Compiles `Tests/<name>.c`.
    init(_ name: String) async throws {
        folder = try TestFolder(name)
        path = "\(folder.path)/\(name).so"
        let compiler = try ChildProcess(
            "/usr/bin/env",
            ["clang", "-shared", "-fPIC", "-O1", "-o", path, "\(Checkout.root)/Tests/\(name).c"],
            environment: Program.environment,
            errors: .overwriting("\(folder.path)/clang.log")
        )
        guard await compiler.status() == 0 else { throw NotBuilt() }
        // The program may run as another user.
        for (path, mode) in [(folder.path, 0o755), (path, 0o644)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
    }

    /// Returns the path of a file beside the library.
    func file(_ name: String) -> String { "\(folder.path)/\(name)" }
}
