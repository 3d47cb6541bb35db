import Foundation
import Glibc

/// A persistent HTTP connection that costs little more than its system calls, which block.
final class LoadConnection {
    struct Answer {
        let status: Int
        /// The head and the beginning of the body.
        let start: [UInt8]

        var text: String { String(decoding: start, as: UTF8.self) }
    }

    let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: LoadConnection.headBytesMax)
    /// The number of bytes in the buffer while the head of an answer is not whole.
    private var received = 0
    /// The answer whose body is being read.
    private var answer: Answer?
    /// The number of bytes that its body lacks.
    private var missing = 0

    private static let headBytesMax = 64 * 1024
    private static let textBytesMax = 1000

    /// Returns the port of a service's address.
    static func port(of base: String) throws -> UInt16 {
        guard let port = base.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw Program.Failure(description: "\(base) has no port")
        }
        return port
    }

    init(to port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { [descriptor] in
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw Program.Failure(description: "no connection to \(port)") }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    }

    deinit { close(descriptor) }

    /// Sends `request` and reads its whole answer.
    ///
    /// - Throws: ``Program/Failure`` when the connection is lost, also by an answer to a request
    ///   that was not yet sent whole.
    func exchange(_ request: [UInt8]) throws -> Answer {
        try send(request)
        while true {
            if let answer = try receive() { return answer }
        }
    }

    /// The most bytes sent at once, as by curl: a kernel that does not interrupt itself copies what
    /// a call has to the end, for milliseconds, whatever the thread's priority.
    private static let sendBytesMax = 64 * 1024

    /// Sends `request`.
    ///
    /// - Throws: ``Program/Failure`` when the connection is lost.
    func send(_ request: [UInt8]) throws {
        var rest = request[...]
        while !rest.isEmpty {
            let count = rest.prefix(Self.sendBytesMax).withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Program.Failure(description: "connection lost") }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads a part of the one expected answer, and returns the answer once it is whole; the rest
    /// of its body behind the buffer does not matter.
    ///
    /// - Throws: ``Program/Failure`` when the connection is lost, or carries something else.
    func receive() throws -> Answer? {
        if answer == nil {
            guard received < buffer.count else {
                throw Program.Failure(description: "an answer with too long a head")
            }
            received += try read(from: received)
            guard let head = buffer[..<received].withUnsafeBytes(Self.head) else { return nil }
            // `HTTP/1.1 200 OK`
            let status = buffer[9..<12].reduce(0) { 10 * $0 + Int($1) - Int(UInt8(ascii: "0")) }
            let start = Array(buffer[..<min(received, Self.textBytesMax)])
            answer = Answer(status: status, start: start)
            missing = head.end + head.length - received
            received = 0
        } else {
            missing -= try read(from: 0)
        }
        guard missing >= 0 else {
            throw Program.Failure(description: "more was answered than was asked")
        }
        guard missing == 0 else { return nil }
        defer { answer = nil }
        return answer
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

    private func read(from start: Int) throws -> Int {
        let count = buffer.withUnsafeMutableBytes { [descriptor] in
            recv(descriptor, $0.baseAddress.map { $0 + start }, $0.count - start, 0)
        }
        guard count > 0 else { throw Program.Failure(description: "connection closed") }
        return count
    }
}
