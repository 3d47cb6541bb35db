import Foundation
import Glibc
import Synchronization

/// Requests over a number of kept connections, each sent when the last one was answered.
///
/// A thread for each connection and nothing more, so that the load costs the machine as little as
/// that of pgbench does.
struct HTTPLoad {
    let base: String
    let connections: Int

    private static let headBytesMax = 64 * 1024
    private static let end = Array("\r\n\r\n".utf8)

    /// The bytes of a request with a JSON body.
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
    /// - Throws: ``Program/Failure`` when an answer is none of 2xx.
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
        var unread: [UInt8] = []
        while let request = next() {
            var rest = request[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Program.Failure(description: "connection lost") }
                rest = rest.dropFirst(count)
            }
            try readAnswer(&unread, from: descriptor)
        }
    }

    private static func readAnswer(_ unread: inout [UInt8], from descriptor: Int32) throws {
        while true {
            if let range = unread.firstRange(of: end) {
                let head = String(decoding: unread[..<range.lowerBound], as: UTF8.self)
                let fields = head.lowercased().split(separator: "\r\n")
                let length = fields.first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.filter(\.isNumber)) }
                guard let length else {
                    throw Program.Failure(description: "an answer without Content-Length: \(head)")
                }
                while unread.count < range.upperBound + length { try receive(&unread, descriptor) }
                guard fields.first?.split(separator: " ").dropFirst().first?.first == "2" else {
                    throw Program.Failure(
                        description: String(decoding: unread.prefix(1000), as: UTF8.self)
                    )
                }
                unread.removeSubrange(..<(range.upperBound + length))
                return
            }
            guard unread.count < headBytesMax else {
                throw Program.Failure(description: "an answer with too long a head")
            }
            try receive(&unread, descriptor)
        }
    }

    private static func receive(_ unread: inout [UInt8], _ descriptor: Int32) throws {
        let before = unread.count
        unread.append(contentsOf: repeatElement(0, count: 16 * 1024))
        let count = unread.withUnsafeMutableBytes {
            recv(descriptor, $0.baseAddress?.advanced(by: before), $0.count - before, 0)
        }
        unread.removeLast(16 * 1024 - max(0, count))
        guard count > 0 else { throw Program.Failure(description: "connection closed") }
    }
}
