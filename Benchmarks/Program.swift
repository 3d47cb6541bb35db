import ChildProcess
import Foundation

/// Another program, as a child of this one.
struct Program {
    /// A program that is missing or has failed.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns whether it is installed.
    static func exists(_ name: String) -> Bool { path(of: name) != nil }

    private static func path(of name: String) -> String? {
        let candidates = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
        return candidates.first(where: FileManager.default.isExecutableFile)
    }

    private static let folders = [
        "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
    ]

    /// Starts `name`.
    static func start(
        _ name: String,
        _ arguments: [String],
        output: ChildProcess.Output = .discarded,
        errors: ChildProcess.Output = .discarded
    ) throws -> ChildProcess {
        guard let path = path(of: name) else {
            throw Failure(description: "\(name) is missing: run .ci/setup --bench")
        }
        return try ChildProcess(path, arguments, output: output, errors: errors)
    }

    /// Runs `name` until it ends.
    static func run(_ name: String, _ arguments: [String]) throws {
        try check(start(name, arguments), name)
    }

    /// Runs `name` until it ends and returns its output.
    static func output(_ name: String, _ arguments: [String]) throws -> String {
        let errors = ChildProcess.Output.descriptor(STDERR_FILENO)
        let process = try start(name, arguments, output: .piped, errors: errors)
        let data = try process.output.readToEnd() ?? Data()
        try check(process, name)
        return String(decoding: data, as: UTF8.self)
    }

    private static func check(_ process: ChildProcess, _ name: String) throws {
        let exit = process.waitUntilExit()
        guard exit == .status(0) else { throw Failure(description: "\(name): \(exit)") }
    }

    /// Returns a port that was free a moment ago, for programs that cannot choose one themselves.
    static func freePort() throws -> UInt16 {
        let (descriptor, port) = try bound()
        close(descriptor)
        return port
    }

    /// Opens a socket of 127.0.0.1 that accepts connections, and returns it with its port.
    static func listener() throws -> (descriptor: Int32, port: UInt16) {
        let (descriptor, port) = try bound()
        guard listen(descriptor, 128) == 0 else {
            close(descriptor)
            throw Failure(description: "nothing to listen on")
        }
        return (descriptor, port)
    }

    private static func bound() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0
                    ? getsockname(descriptor, generic, &length) : -1
            }
        }
        guard code == 0 else {
            close(descriptor)
            throw Failure(description: "no free port")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}
