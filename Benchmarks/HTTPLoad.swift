import Foundation
import Glibc
import Synchronization

/// Requests over a number of persistent connections, each sent when the last one was answered.
///
/// Each connection has one thread and nothing more, so that the load costs the machine as little as
/// that of pgbench does.
struct HTTPLoad {
    let base: String
    let connections: Int

    private static let headBytesMax = 64 * 1024

    /// Returns the bytes of a request with a JSON body.
    static func post(_ path: String, to base: String, key: String? = nil, json: String) -> [UInt8] {
        let host = base.split(separator: "/").last ?? ""
        let authorization = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        return Array(
            "POST \(path) HTTP/1.1\r\nHost: \(host)\r\n\(authorization)"
                .appending(
                    "Content-Type: application/json\r\nContent-Length: \(json.utf8.count)\r\n"
                )
                .appending("\r\n\(json)").utf8
        )
    }

    /// Sends all `requests`.
    ///
    /// - Returns: seconds until the last answer.
    /// - Throws: ``Program/Failure`` when the status of an answer is not 2xx.
    func send(_ requests: [[UInt8]]) async throws -> Double {
        guard let port = base.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw Program.Failure(description: "\(base) has no port")
        }
        let next = Atomic(0)
        let failure = Mutex<String?>(nil)
        let start = ContinuousClock.now
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let group = DispatchGroup()
            for _ in 0..<connections {
                group.enter()
                Thread.detachNewThread {
                    defer { group.leave() }
                    do {
                        try Self.work(port) {
                            guard failure.withLock({ $0 == nil }) else { return nil }
                            let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                            return index < requests.count ? requests[index] : nil
                        }
                    } catch {
                        failure.withLock { $0 = "\(error)" }
                    }
                }
            }
            group.notify(queue: .global()) { continuation.resume() }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        if let failure = failure.withLock({ $0 }) { throw Program.Failure(description: failure) }
        return seconds
    }

    private static func work(_ port: UInt16, _ next: () -> [UInt8]?) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw Program.Failure(description: "no connection to \(port)") }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var buffer = [UInt8](repeating: 0, count: headBytesMax)
        while let request = next() {
            var rest = request[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Program.Failure(description: "connection lost") }
                rest = rest.dropFirst(count)
            }
            try buffer.withUnsafeMutableBytes { try readAnswer(into: $0, from: descriptor) }
        }
    }

    /// Reads the one expected answer; the rest of its body behind the buffer does not matter.
    private static func readAnswer(
        into buffer: UnsafeMutableRawBufferPointer,
        from descriptor: Int32
    ) throws {
        var count = 0
        while true {
            guard count < buffer.count else {
                throw Program.Failure(description: "an answer with too long a head")
            }
            count += try receive(
                UnsafeMutableRawBufferPointer(rebasing: buffer[count...]),
                descriptor
            )
            let received = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            guard let head = head(of: received) else { continue }
            // `HTTP/1.1 2xx`
            guard received.count > 9, received[9] == UInt8(ascii: "2") else {
                throw Program.Failure(
                    description: String(decoding: received.prefix(1000), as: UTF8.self)
                )
            }
            var missing = head.end + head.length - count
            while missing > 0 { missing -= try receive(buffer, descriptor) }
            guard missing == 0 else {
                throw Program.Failure(description: "more was answered than was asked")
            }
            return
        }
    }

    /// Returns the start and the length of the body; nil before the whole head is there, or when
    /// the head does not state the length.
    private static func head(of bytes: UnsafeRawBufferPointer) -> (end: Int, length: Int)? {
        let field = "content-length:"
        var length: Int?
        var line = bytes[...]
        while let lineEnd = line.firstIndex(of: UInt8(ascii: "\n")) {
            let text = UnsafeRawBufferPointer(rebasing: line[..<lineEnd])
            if text.count <= 1 { return length.map { (lineEnd + 1, $0) } }
            if text.count > field.utf8.count,
                zip(text, field.utf8).allSatisfy({ $0.0 | 0x20 == $0.1 | 0x20 })
            {
                length = text.dropFirst(field.utf8.count).reduce(0) { sum, byte in
                    (0x30...0x39).contains(byte) ? sum * 10 + Int(byte - 0x30) : sum
                }
            }
            line = line[(lineEnd + 1)...]
        }
        return nil
    }

    private static func receive(
        _ buffer: UnsafeMutableRawBufferPointer,
        _ descriptor: Int32
    ) throws -> Int {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { throw Program.Failure(description: "connection closed") }
        return count
    }
}
