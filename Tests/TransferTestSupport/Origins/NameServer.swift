import Glibc
import Synchronization

/// A name server (RFC 1035) on a loopback address of its own, with answers that a test gives.
///
/// Port 53 requires root.
package final class NameServer: Sendable {
    /// The server could not take its address.
    package struct Failure: Error {
        /// `errno`.
        let code: Int32
    }

    /// The answer for a name.
    package enum Answer: Sendable {
        /// IPv4 addresses; more than fit into a datagram are returned only over TCP.
        case addresses([String])
        /// SERVFAIL.
        case failure
        /// No answer at all.
        case silence
    }

    /// The address on which it listens, always at port 53.
    package let address: String
    private let answers = Mutex<[String: Answer]>([:])
    private let questions = Mutex<Set<String>>([])
    private let datagrams: Int32
    private let listener: Int32
    private static let count = Atomic(0)

    /// The maximum size of a datagram without extensions (RFC 1035 §2.3.4).
    private static let datagramMax = 512
    private static let internet: [UInt8] = [0, 1]
    private static let typeA: [UInt8] = [0, 1]

    /// Starts a server that knows no name.
    package init() throws(Failure) {
        let number = Self.count.add(1, ordering: .relaxed).newValue
        let process = getpid()
        address = "127.53.\(process % 250 + 1).\((process / 250 + Int32(number)) % 250 + 1)"
        datagrams = try Self.bound(SOCK_DGRAM, address)
        do throws(Failure) {
            listener = try Self.bound(SOCK_STREAM, address)
        } catch {
            close(datagrams)
            throw error
        }
        listen(listener, 128)
        startThread { [self] in answerDatagrams() }
        startThread { [self] in answerConnections() }
    }

    /// Sets the answer for a name from now on; a name without one does not exist.
    package func know(_ name: String, _ answer: Answer) {
        answers.withLock { $0[name] = answer }
    }

    /// The names that it was asked for, whatever its answer.
    package var namesAsked: Set<String> { questions.withLock { $0 } }

    /// Stops the server.
    package func stop() {
        // This wakes the threads, which close their descriptors.
        shutdown(datagrams, Int32(SHUT_RDWR))
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func answerDatagrams() {
        defer { close(datagrams) }
        var buffer = [UInt8](repeating: 0, count: Self.datagramMax)
        while true {
            var peer = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let received = withUnsafeMutablePointer(to: &peer) { peer in
                peer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(datagrams, &buffer, buffer.count, 0, $0, &length)
                }
            }
            guard received > 0 else { return }
            guard
                let message = message(
                    to: Array(buffer.prefix(received)),
                    bytesMax: Self.datagramMax
                )
            else { continue }
            withUnsafePointer(to: &peer) { peer in
                peer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = sendto(datagrams, message, message.count, 0, $0, length)
                }
            }
        }
    }

    private func answerConnections() {
        defer { close(listener) }
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            startThread { [self] in answer(connection) }
        }
    }

    /// Answers until the resolver closes: it asks for both kinds of addresses on one connection.
    private func answer(_ connection: Int32) {
        defer { close(connection) }
        while let head = Self.read(2, from: connection),
            let query = Self.read(Int(head[0]) << 8 | Int(head[1]), from: connection)
        {
            guard let message = message(to: query, bytesMax: Int(UInt16.max)) else { continue }
            let framed = [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
            _ = send(connection, framed, framed.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// Returns the message that answers `query`; nil for none.
    private func message(to query: [UInt8], bytesMax: Int) -> [UInt8]? {
        guard let question = Question(query) else { return nil }
        questions.withLock { _ = $0.insert(question.name) }
        // There is nothing of another type, which is no error.
        let isAsked = question.type == Self.typeA
        let records: [[UInt8]]
        var code: UInt8 = 0
        switch answers.withLock({ $0[question.name] }) {
        case .silence: return nil
        case .failure: (records, code) = ([], 2)
        case nil: (records, code) = ([], 3)
        case .addresses(let addresses): records = isAsked ? addresses.compactMap(Self.record) : []
        }
        let isCut = 12 + question.bytes.count + records.count * 16 > bytesMax
        let count = isCut ? 0 : records.count
        var message = Array(query.prefix(2))
        // An authoritative response, perhaps truncated, with recursion desired and available.
        message += [0x85 | (isCut ? 0x02 : 0), 0x80 | code]
        message += [0, 1, UInt8(count >> 8), UInt8(count & 0xFF), 0, 0, 0, 0]
        message += question.bytes
        for record in records.prefix(count) { message += record }
        return message
    }

    /// Returns the resource record of an address, with a time to live of zero.
    private static func record(_ address: String) -> [UInt8]? {
        var parsed = in_addr()
        guard inet_pton(AF_INET, address, &parsed) == 1 else { return nil }
        var record: [UInt8] = [0xC0, 0x0C]
        record += typeA + internet
        record += [0, 0, 0, 0, 0, 4]
        record += withUnsafeBytes(of: parsed.s_addr) { Array($0) }
        return record
    }

    private static func read(_ count: Int, from connection: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = recv(connection, &bytes, count, Int32(MSG_WAITALL))
        return received == count ? bytes : nil
    }

    private static func bound(_ type: __socket_type, _ address: String) throws(Failure) -> Int32 {
        let descriptor = socket(AF_INET, Int32(type.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        var isReused: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, 4)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = in_port_t(53).bigEndian
        inet_pton(AF_INET, address, &name.sin_addr)
        let code = withUnsafePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            let code = errno
            close(descriptor)
            throw Failure(code: code)
        }
        return descriptor
    }
}

/// The first question of a message (RFC 1035 §4.1.2).
private struct Question {
    let name: String
    let type: [UInt8]
    /// The bytes of the question as in the message.
    let bytes: [UInt8]

    init?(_ query: [UInt8]) {
        var labels: [String] = []
        var position = 12
        while position < query.count, query[position] > 0 {
            let end = position + 1 + Int(query[position])
            guard end < query.count else { return nil }
            labels.append(String(decoding: query[(position + 1)..<end], as: UTF8.self))
            position = end
        }
        guard position + 5 <= query.count else { return nil }
        name = labels.joined(separator: ".").lowercased()
        type = Array(query[(position + 1)..<(position + 3)])
        bytes = Array(query[12..<(position + 5)])
    }
}
