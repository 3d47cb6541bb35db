import Foundation
import Glibc

/// The raw client of the tests: it sends bytes over a socket of its own, and reads the one answer.
///
/// The bytes that a test writes arrive unchanged, also when no library would send them. It is for
/// tests whose subject is HTTP itself, such as statuses, limits, probes, malformed requests and
/// exact JSON, and for what the Swift client has no call for. What the service does for those who
/// use it is asked through ``TransferClient``, which ``ServiceProcess/client(key:)`` makes.
package struct HTTPClient: Sendable {
    /// The port of the server on 127.0.0.1.
    package let port: Int
    private let key: String?
    private let timeout: Duration

    /// An answer as it was received.
    package struct Answer: Sendable {
        package let status: Int
        /// The header fields by lower-case name.
        package let fields: [String: String]
        package let body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }

        /// Decodes the body as a wire type.
        package func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(type, from: Data(body))
        }
    }

    /// A call that failed, or an answer that is none.
    package struct Failure: Error {
        package let step: String
        package let code: Int32

        package init(step: String, code: Int32) {
            self.step = step
            self.code = code
        }
    }

    /// - Parameters:
    ///   - port: the port of the server on 127.0.0.1.
    ///   - key: the API key of ``send(_:_:_:idempotencyKey:fields:)``.
    ///   - timeout: the time that nothing may arrive.
    package init(port: Int, key: String? = nil, timeout: Duration = .seconds(60)) {
        self.port = port
        self.key = key
        self.timeout = timeout
    }

    package init(_ service: ServiceProcess, key: String, timeout: Duration = .seconds(60)) {
        self.init(port: service.announcement.port, key: key, timeout: timeout)
    }

    /// Sends a request with the key, other than HEAD, and returns whatever was answered.
    package func send(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        idempotencyKey: String? = nil,
        fields: [(String, String)] = []
    ) async throws -> Answer {
        var all = key.map { [("Authorization", "Bearer \($0)")] } ?? []
        all.append(("Content-Type", "application/json"))
        if let idempotencyKey { all.append(("Idempotency-Key", idempotencyKey)) }
        // RFC 9110, section 8.6: a method that expects a body has a length also without one.
        let body = body.map { Array($0.utf8) } ?? (method == "GET" ? nil : [])
        let answer = try await exchange(
            Self.request(method, path, fields: all + fields, body: body)
        )
        if let length = answer.fields["content-length"].flatMap({ Int($0) }) {
            // The server has died meanwhile.
            guard answer.body.count == length else { throw Failure(step: "body", code: 0) }
        }
        return answer
    }

    /// Returns the status of an answer; nil when there is none.
    package func status(_ method: String, _ path: String, _ body: String? = nil) async -> Int? {
        try? await send(method, path, body).status
    }

    /// Returns the answer to a request, as a wire type.
    package func get<Value: Decodable>(
        _ path: String,
        as type: Value.Type = Value.self
    ) async throws -> Value {
        try await send("GET", path).json(type)
    }

    /// Sends `request` and reads until the server closes.
    package func exchange(_ request: [UInt8]) async throws -> Answer {
        try await onThread { try send(request) }
    }

    /// Returns a request with the header fields that it needs, and `Connection: close`.
    package static func request(
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
        let descriptor = try Self.connect(port, timeout: timeout)
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
    package static func connect(
        _ port: Int,
        timeout: Duration = .seconds(60)
    ) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(step: "socket", code: errno) }
        var limit = timeval(tv_sec: Int(timeout.components.seconds), tv_usec: 0)
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
    package static func parse(_ received: [UInt8]) throws -> Answer {
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
    package static func unchunked(_ bytes: [UInt8]) -> [UInt8] {
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
