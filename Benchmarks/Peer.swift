import Foundation
import Glibc
import Synchronization
import TransferWire

/// The origin of a small file and its subscriber in one process, so that a single clock measures
/// the time from the last byte sent to the message received.
///
/// It serves one download at a time; each connection has a thread of its own.
final class Peer: Sendable {
    /// One download, from its last byte to the end of its generation.
    struct Sample: Sendable {
        /// The time when the kernel had taken the last byte of the file.
        fileprivate(set) var sent: ContinuousClock.Instant
        /// The time when the whole message `task.completed` had arrived.
        fileprivate(set) var completed: ContinuousClock.Instant?
        /// The time from the service's timestamp of the event to ``completed``.
        fileprivate(set) var age: Duration = .zero
        /// The time when the whole message `session.events_finished` had arrived.
        fileprivate(set) var finished: ContinuousClock.Instant?
    }

    let port: UInt16
    /// The samples in the order in which their generations end.
    let samples: AsyncStream<Sample>
    private let listener: Int32
    private let file: [UInt8]
    private let continuation: AsyncStream<Sample>.Continuation
    private let current = Mutex<Sample?>(nil)

    /// The maximum number of bytes of a request head.
    private static let headBytesMax = 64 * 1024

    init(fileBytes: Int) throws {
        file = Array(repeating: 7, count: fileBytes)
        (samples, continuation) = AsyncStream.makeStream()
        (listener, port) = try Program.listener()
        Thread.detachNewThread { [weak self, listener] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                Thread.detachNewThread { [weak self] in self?.serve(descriptor) }
            }
        }
    }

    var fileURL: String { "http://127.0.0.1:\(port)/file" }
    var hookURL: String { "http://127.0.0.1:\(port)/hook" }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        continuation.finish()
    }

    private func serve(_ descriptor: Int32) {
        defer { close(descriptor) }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var unread: [UInt8] = []
        while let request = Self.read(&unread, from: descriptor) {
            let now = ContinuousClock.now
            let answered =
                request.isPost
                ? Self.send(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8), to: descriptor)
                : sendFile(to: descriptor)
            if request.isPost { note(request.body, at: now) }
            guard answered else { return }
        }
    }

    private func sendFile(to descriptor: Int32) -> Bool {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(file.count)\r\n\r\n"
        let isSent = Self.send(Array(head.utf8) + file, to: descriptor)
        current.withLock { $0 = Sample(sent: .now) }
        return isSent
    }

    private func note(_ body: [UInt8], at now: ContinuousClock.Instant) {
        let date = Date()
        guard let event = try? JSONDecoder().decode(EventMessage.self, from: Data(body)) else {
            return
        }
        let sample = current.withLock { current -> Sample? in
            switch event.type {
            case "task.completed":
                current?.completed = now
                current?.age =
                    .seconds(date.timeIntervalSince(event.timestamp.date))
                    - (ContinuousClock.now - now)
                return nil
            case "session.events_finished":
                current?.finished = now
                defer { current = nil }
                return current
            default:
                return nil
            }
        }
        if let sample { continuation.yield(sample) }
    }

    private static func read(
        _ unread: inout [UInt8],
        from descriptor: Int32
    ) -> (isPost: Bool, body: [UInt8])? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = unread.firstRange(of: end) {
                let head = String(decoding: unread[..<range.lowerBound], as: UTF8.self).lowercased()
                let field = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                let length = field.flatMap { Int($0.filter(\.isNumber)) } ?? 0
                while unread.count < range.upperBound + length {
                    guard receive(&unread, from: descriptor) else { return nil }
                }
                let body = Array(unread[range.upperBound..<range.upperBound + length])
                unread.removeSubrange(..<(range.upperBound + length))
                return (head.hasPrefix("post"), body)
            }
            guard unread.count < headBytesMax, receive(&unread, from: descriptor) else {
                return nil
            }
        }
    }

    private static func receive(_ unread: inout [UInt8], from descriptor: Int32) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        unread += buffer[..<count]
        return true
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
