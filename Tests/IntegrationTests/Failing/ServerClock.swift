import Foundation

/// The clock of a service's own PostgreSQL, which a test can set.
final class ServerClock: Sendable {
    /// The environment with which the service has to be started.
    let environment: [String: String]
    private let file: String
    private let library: PreloadedLibrary

    /// Compiles the library that is loaded into the server.
    init() async throws {
        library = try await PreloadedLibrary("clock")
        file = library.file("time")
        environment = ["LD_PRELOAD": library.path, "SERVER_CLOCK": file]
        try Data(count: MemoryLayout<Int64>.size).write(to: URL(filePath: file))
        // The server may run as another user.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    }

    /// Sets the clock ahead by `seconds`, in place: the server has mapped the file.
    func set(ahead seconds: Int64) throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        try withUnsafeBytes(of: seconds) { try handle.write(contentsOf: Data($0)) }
        try handle.close()
    }
}
