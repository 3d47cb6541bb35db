import Foundation
import Glibc

/// A persistent HTTP connection that blocks its thread, and costs little more than its system calls.
final class LoadConnection {
    struct Answer {
        let status: Int
        /// The head and the beginning of the body.
        let text: String
    }

    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: LoadConnection.headBytesMax)

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
        var rest = request[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Program.Failure(description: "connection lost") }
            rest = rest.dropFirst(count)
        }
        return try buffer.withUnsafeMutableBytes { try readAnswer(into: $0) }
    }

    /// Reads the one expected answer; the rest of its body behind the buffer does not matter.
    private func readAnswer(into buffer: UnsafeMutableRawBufferPointer) throws -> Answer {
        var count = 0
        while true {
            guard count < buffer.count else {
                throw Program.Failure(description: "an answer with too long a head")
            }
            count += try receive(UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
            let received = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            guard let head = Self.head(of: received) else { continue }
            let text = String(decoding: received.prefix(Self.textBytesMax), as: UTF8.self)
            var missing = head.end + head.length - count
            while missing > 0 { missing -= try receive(buffer) }
            guard missing == 0 else {
                throw Program.Failure(description: "more was answered than was asked")
            }
            // `HTTP/1.1 200 OK`
            let status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap {
                Int($0)
            }
            return Answer(status: status ?? 0, text: text)
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

    private func receive(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { throw Program.Failure(description: "connection closed") }
        return count
    }
}
