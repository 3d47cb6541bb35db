import Dispatch
import Foundation
import Glibc
import Synchronization
import TransferTestSupport

@testable import TransferHTTP

/// One connection whose answer is read as it comes.
final class StreamClient: Sendable {
    private struct State {
        var received: [UInt8] = []
        var isEnded = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    /// Sends `request` and reads from then on, unless the client is to read nothing.
    init(port: Int, request: [UInt8], isReading: Bool = true) throws {
        descriptor = try HTTPClient.connect(port)
        try send(request)
        if isReading { startReading() }
    }

    /// Sends more bytes, as of a body that comes in pieces.
    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw HTTPClient.Failure(step: "send", code: errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends `bytes` again and again until nothing has been taken for three seconds.
    ///
    /// - Returns: the mebibytes that were taken, `mebibytesMax` at most.
    func sendAhead(_ bytes: [UInt8], mebibytesMax: Int) throws -> Int {
        var count = 0
        while count < mebibytesMax << 20 {
            let sent = bytes.withUnsafeBytes { bytes in
                let offset = count % bytes.count
                return Glibc.send(
                    descriptor,
                    bytes.baseAddress?.advanced(by: offset),
                    bytes.count - offset,
                    Int32(MSG_NOSIGNAL | MSG_DONTWAIT)
                )
            }
            if sent > 0 {
                count += sent
            } else {
                guard errno == EAGAIN else { throw HTTPClient.Failure(step: "send", code: errno) }
                var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                if poll(&watched, 1, 3000) == 0 { break }
            }
        }
        return count >> 20
    }

    deinit { close(descriptor) }

    func startReading() {
        Thread.detachNewThread { [self] in
            while receive(bytesMax: 64 * 1024) {}
        }
    }

    /// Waits for bytes, on the caller's thread; returns false at the end of the connection.
    func receive(bytesMax: Int) -> Bool {
        let bytes = [UInt8](unsafeUninitializedCapacity: bytesMax) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, bytesMax, 0))
        }
        state.withLock {
            $0.received += bytes
            $0.isEnded = bytes.isEmpty
        }
        return !bytes.isEmpty
    }

    /// Sends nothing more, but still reads.
    func stopSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Ends the connection, as an exiting program does.
    func goAway() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Whether the last chunk of a body that was ended, and not broken off, has arrived (RFC 9112
    /// §7.1).
    var isWhole: Bool { state.withLock { $0.received.suffix(5) == Array("0\r\n\r\n".utf8) } }

    /// The text received so far, without the framing of chunks.
    var text: String {
        let received = state.withLock { $0.received }
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return "" }
        let body = HTTPClient.unchunked(Array(received[end.upperBound...]))
        return String(decoding: body, as: UTF8.self)
    }

    /// All received bytes, of any number of answers.
    var all: String { String(decoding: state.withLock { $0.received }, as: UTF8.self) }

    /// The head of the answer, once it has arrived.
    var head: String {
        let received = state.withLock { $0.received }
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return "" }
        return String(decoding: received[..<end.lowerBound], as: UTF8.self)
    }

    /// The events that have arrived completely.
    var events: [Event] {
        text.components(separatedBy: "\n\n").dropLast().compactMap(Event.init)
    }

    /// An event of the stream.
    struct Event: Equatable {
        let id: String
        let type: String
        let data: String

        var sequence: Int64? { id.split(separator: ":").last.flatMap { Int64($0) } }

        /// Parses an event; nil for a text that is none: a comment, a `retry`, a position.
        init?(_ text: String) {
            var fields: [String: String] = [:]
            for line in text.components(separatedBy: "\n") {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts.count == 2 { fields[String(parts[0])] = String(parts[1].dropFirst()) }
            }
            guard let data = fields["data"] else { return nil }
            id = fields["id"] ?? ""
            type = fields["event"] ?? ""
            self.data = data
        }
    }
}

extension APIServer {
    /// Opens a stream of events.
    func stream(
        _ path: String,
        as tenant: Tenant? = nil,
        fields: [(String, String)] = [],
        port: Int? = nil,
        isReading: Bool = true
    ) throws -> StreamClient {
        let key = (tenant ?? first).key.serialized
        return try StreamClient(
            port: port ?? client.port,
            request: HTTPClient.request(
                "GET",
                path,
                fields: fields + [
                    ("Authorization", "Bearer \(key)"), ("Accept", "text/event-stream"),
                ],
                body: nil
            ),
            isReading: isReading
        )
    }
}
