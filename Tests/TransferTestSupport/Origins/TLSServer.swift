import ChildProcess
import Foundation
import Glibc
import Synchronization

/// A real TLS server on 127.0.0.1: `openssl s_server` as a child process.
///
/// It serves one connection after the other, never two at once.
package final class TLSServer: Sendable {
    /// The behaviour of the server on a connection.
    package enum Mode: Sendable {
        /// Answers each `GET` with the bytes, which are a whole response, and ends the connection.
        case answer([UInt8])
        /// Sends the argument of ``TLSServer/send(_:)`` and keeps the connection.
        case manual

        /// Answers each `GET` with a body.
        package static func answer(body: [UInt8]) -> Mode {
            .answer(Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
        }
    }

    /// The port the system has chosen.
    package let port: UInt16
    private let program: ChildProcess
    private let line: OutputLog

    /// Starts the server and returns once it listens.
    ///
    /// - Parameters:
    ///   - certificate: the certificate that it shows.
    ///   - authority: the authority in whose folder it runs.
    ///   - mode: its behaviour on a connection.
    ///   - options: more options of `openssl s_server`.
    /// - Throws: ``NeverHappened`` when the command ends without listening.
    package init(
        _ certificate: TestAuthority.Certificate,
        of authority: TestAuthority,
        _ mode: Mode = .answer(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)),
        options: [String] = []
    ) async throws {
        var arguments = [
            // Whatever happens to the test, no server outlives it by much.
            "300", "openssl", "s_server", "-accept", "127.0.0.1:0",
            "-cert", certificate.certificatePath, "-key", certificate.keyPath,
        ]
        if case .answer(let response) = mode {
            try Data(response).write(
                to: URL(filePath: "\(authority.folder.path)/\(Self.fileName)")
            )
            arguments.append("-HTTP")
        }
        let (line, far) = try OutputLog.pair()
        defer { close(far) }
        program = try ChildProcess(
            "timeout",
            arguments + options,
            in: authority.folder.path,
            environment: TestAuthority.environment(authority.folder),
            input: far,
            output: .descriptor(far),
            holding: authority.folder
        )
        self.line = line
        guard await line.wait(until: { Self.port(in: $0) != nil }),
            let port = Self.port(in: line.bytes)
        else {
            program.signal(SIGTERM)
            throw NeverHappened(what: "openssl s_server listens")
        }
        self.port = port
    }

    deinit { program.signal(SIGTERM) }

    /// Returns the URL of the response.
    package func url(host: String = "127.0.0.1") -> String {
        "https://\(host):\(port)/\(Self.fileName)"
    }

    /// Sends bytes on the current connection of a `manual` server.
    package func send(_ text: String) { line.send(Array(text.utf8)) }

    /// Returns once a `manual` server has received `count` whole request heads.
    package func receivedHeads(_ count: Int) async {
        _ = await line.wait { $0.ranges(of: Array("\r\n\r\n".utf8)).count >= count }
    }

    private static let fileName = "response"

    /// Parses `ACCEPT 127.0.0.1:4711`, which s_server prints when it was not given a port.
    private static func port(in output: [UInt8]) -> UInt16? {
        let marker = Array("ACCEPT 127.0.0.1:".utf8)
        guard let start = output.firstRange(of: marker)?.upperBound,
            let end = output[start...].firstIndex(of: 0x0A)
        else { return nil }
        return UInt16(String(decoding: output[start..<end], as: UTF8.self))
    }
}

/// A line to a child process that wakes those who wait for its output.
private final class OutputLog: Sendable {
    private struct Waiter {
        let isMet: @Sendable ([UInt8]) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var bytes: [UInt8] = []
        var hasEnded = false
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    private let descriptor: Int32

    /// Creates a line and its far end, which is for the child alone.
    static func pair() throws -> (OutputLog, far: Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw HeldPort.Failure(code: errno)
        }
        return (OutputLog(ends[0]), ends[1])
    }

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        startThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 16 * 1024)
            while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
                change { $0.bytes += buffer[..<count] }
            }
            change { $0.hasEnded = true }
        }
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }

    /// Returns true once `condition` holds, and false when it cannot hold any more.
    func wait(until condition: @escaping @Sendable ([UInt8]) -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if condition(state.bytes) { return true }
                if state.hasEnded { return false }
                state.waiters.append(Waiter(isMet: condition, continuation: continuation))
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let (met, lost) = state.withLock { state in
            body(&state)
            let met = state.waiters.filter { $0.isMet(state.bytes) }
            state.waiters.removeAll { $0.isMet(state.bytes) }
            let lost = state.hasEnded ? state.waiters : []
            if state.hasEnded { state.waiters = [] }
            return (met, lost)
        }
        for waiter in met { waiter.continuation.resume(returning: true) }
        for waiter in lost { waiter.continuation.resume(returning: false) }
    }
}
