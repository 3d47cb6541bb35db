import Glibc
import Synchronization

/// An HTTP proxy on 127.0.0.1 that makes tunnels (RFC 9110 §9.3.6) and does nothing else.
///
/// Every tunnel leads to one port of this machine, whatever address was asked for, so that tests
/// can ask for public addresses.
package final class ConnectProxy: Sendable {
    /// What becomes of a request for a tunnel.
    package enum Answer: Sendable {
        /// A tunnel.
        case tunnel
        /// A status in place of a tunnel, and the end of the connection.
        case status(Int)
        /// Bytes that are no answer, and the end of the connection.
        case bytes(String)
        /// Neither an answer nor an end.
        case silence
    }

    /// What the proxy has seen.
    package struct Log: Sendable {
        /// The connections that were accepted.
        package var connections = 0
        /// The tunnels that were made.
        package var tunnels = 0
        /// The heads of all requests, with their line ends.
        package var heads: [String] = []

        /// The targets of all requests, such as `93.184.216.34:80`, and other first lines whole.
        package var targets: [String] { heads.map(ConnectProxy.target) }
    }

    /// The port that the system has chosen.
    package var port: UInt16 { held.number }
    private let held: HeldPort
    private let origin: UInt16
    private let state = Mutex(Log())
    private let answer = Mutex<@Sendable (String) -> Answer>({ _ in .tunnel })
    private let open = Mutex<Set<Int32>>([])
    private let gate = OriginGate()

    /// Listens, and leads tunnels to a port of 127.0.0.1.
    package init(to origin: UInt16) throws {
        self.origin = origin
        held = try HeldPort()
        let listener = try held.listen(backlog: 128)
        startThread { [weak self, gate] in
            while wait(for: listener, unless: gate) {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { continue }
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                guard let self else {
                    close(descriptor)
                    break
                }
                startThread { self.serve(descriptor) }
            }
            close(listener)
        }
    }

    deinit { stop() }

    /// Where it listens, as a setting has it.
    package var url: String { "http://127.0.0.1:\(port)" }

    /// What it has seen so far.
    package var log: Log { state.withLock { $0 } }

    /// Decides about requests from now on by their target, such as `93.184.216.34:80`.
    package func answers(_ answer: @escaping @Sendable (String) -> Answer) {
        self.answer.withLock { $0 = answer }
    }

    /// Stops listening and ends all connections.
    package func stop() {
        gate.open()
        open.withLock { open in
            for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func serve(_ descriptor: Int32) {
        state.withLock { $0.connections += 1 }
        _ = open.withLock { $0.insert(descriptor) }
        if let head = Self.head(from: descriptor) {
            state.withLock { $0.heads.append(head) }
            respond(to: Self.target(of: head), on: descriptor)
        }
        open.withLock { open in
            open.remove(descriptor)
            close(descriptor)
        }
    }

    private func respond(to target: String, on descriptor: Int32) {
        switch answer.withLock({ $0 })(target) {
        case .tunnel:
            tunnel(descriptor)
        case .status(let status):
            Self.send("HTTP/1.1 \(status) No\r\nContent-Length: 2\r\n\r\nno", on: descriptor)
        case .bytes(let text):
            Self.send(text, on: descriptor)
        case .silence:
            var byte: UInt8 = 0
            while recv(descriptor, &byte, 1, 0) > 0 {}
        }
    }

    private func tunnel(_ descriptor: Int32) {
        let far = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(far) }
        var address = Self.loopback(origin)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(far, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            return Self.send("HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n", on: descriptor)
        }
        state.withLock { $0.tunnels += 1 }
        // What a proxy says of itself is no part of the origin's answer.
        Self.send("HTTP/1.1 200 Made\r\nX-Proxy: here\r\n\r\n", on: descriptor)
        var ends = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: far, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&ends, 2, -1) > 0 || errno == EINTR {
            if ends[0].revents != 0, !Self.pass(from: descriptor, to: far) { return }
            if ends[1].revents != 0, !Self.pass(from: far, to: descriptor) { return }
        }
    }

    /// Passes on what has come; returns false at an end.
    private static func pass(from source: Int32, to sink: Int32) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(source, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        return send(buffer[..<count], on: sink)
    }

    private static func target(of head: String) -> String {
        let line = String(head.prefix { $0 != "\r\n" })
        let words = line.split(separator: " ")
        return words.first == "CONNECT" && words.count == 3 ? String(words[1]) : line
    }

    /// Reads up to the empty line, and nothing beyond it; nil at an end before.
    private static func head(from descriptor: Int32) -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.suffix(4) != Array("\r\n\r\n".utf8)[...] {
            guard bytes.count < 64 * 1024, recv(descriptor, &byte, 1, 0) == 1 else { return nil }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func send(_ text: String, on descriptor: Int32) {
        _ = send(Array(text.utf8)[...], on: descriptor)
    }

    private static func send(_ bytes: ArraySlice<UInt8>, on descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }
}
