import Foundation
import Glibc

/// A client that sends bytes over a separate socket and reads the one answer.
///
/// The bytes that a test writes arrive unchanged, also when no library would send them.
struct HTTPClient: Sendable {
    let port: Int

    struct Answer: Sendable {
        let status: Int
        /// The header fields by lower-case name.
        let fields: [String: String]
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    struct Failure: Error {
        let step: String
        let code: Int32
    }

    /// Sends `request` and reads until the server closes.
    func exchange(_ request: [UInt8]) async throws -> Answer {
        // The calls block, so they run on separate threads: those of Dispatch are also the
        // cooperative pool's, and are added one a second when all of them block.
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try send(request) })
            }
        }
    }

    /// Returns a request with the header fields that it needs, and `Connection: close`.
    static func request(
        _ method: String,
        _ path: String,
        fields: [(String, String)],
        body: [UInt8]?
    ) -> [UInt8] {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Connection: close"]
        lines += fields.map { "\($0): \($1)" }
        if let body { lines.append("Content-Length: \(body.count)") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (body ?? [])
    }

    private func send(_ request: [UInt8]) throws -> Answer {
        let descriptor = try Self.connect(port)
        defer { close(descriptor) }
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // A server that has already answered may refuse the rest.
            guard count > 0 else { break }
            sent += count
        }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            received += buffer[..<count]
        }
        return try Self.parse(received)
    }

    /// Returns a connected socket on which nothing waits forever.
    static func connect(_ port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(step: "socket", code: errno) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            let code = errno
            close(descriptor)
            throw Failure(step: "connect", code: code)
        }
        return descriptor
    }

    /// Splits the last message of `received`, after interim ones, into its parts.
    static func parse(_ received: [UInt8]) throws -> Answer {
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Failure(step: "parse", code: 0)
        }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self)
            .components(separatedBy: "\r\n")
        let status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        let rest = Array(received[end.upperBound...])
        if (100..<200).contains(status) { return try parse(rest) }
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (
                parts[0].lowercased(),
                parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
            )
        }
        let all = Dictionary(fields, uniquingKeysWith: { "\($0), \($1)" })
        let isChunked = all["transfer-encoding"] == "chunked"
        return Answer(status: status, fields: all, body: isChunked ? unchunked(rest) : rest)
    }

    /// Returns the bytes so far of a body that comes in chunks (RFC 9112 §7.1).
    static func unchunked(_ bytes: [UInt8]) -> [UInt8] {
        var rest = bytes[...]
        var body: [UInt8] = []
        while let line = rest.firstRange(of: Array("\r\n".utf8)) {
            let digits = String(decoding: rest[..<line.lowerBound], as: UTF8.self)
            guard let count = Int(digits, radix: 16), count > 0,
                rest[line.upperBound...].count >= count
            else { break }
            body += rest[line.upperBound...].prefix(count)
            rest = rest[line.upperBound...].dropFirst(count + 2)
        }
        return body
    }
}
