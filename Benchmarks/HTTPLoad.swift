import Foundation
import Glibc
import Synchronization

/// Requests over a number of persistent connections, each sent when the last one was answered.
///
/// Two threads wait for all connections, so that the load costs the machine as little as that of
/// pgbench does.
struct HTTPLoad {
    let base: String
    let connections: Int

    private static let threadsMax = 2

    /// Returns the bytes of a request with a JSON body.
    static func post(_ path: String, to base: String, key: String? = nil, json: String) -> [UInt8] {
        Array(
            head("POST", path, to: base, key: key)
                .appending(
                    "Content-Type: application/json\r\nContent-Length: \(json.utf8.count)\r\n"
                )
                .appending("\r\n\(json)").utf8
        )
    }

    /// Returns the bytes of a request without a body.
    static func get(_ path: String, from base: String, key: String? = nil) -> [UInt8] {
        Array(head("GET", path, to: base, key: key).appending("\r\n").utf8)
    }

    private static func head(
        _ method: String,
        _ path: String,
        to base: String,
        key: String?
    ) -> String {
        let host = base.split(separator: "/").last ?? ""
        let authorization = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        return "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n\(authorization)"
    }

    /// Sends all `requests`.
    ///
    /// - Returns: seconds until the last answer.
    /// - Throws: ``Program/Failure`` when the status of an answer is not 2xx.
    func send(_ requests: [[UInt8]]) async throws -> Double {
        let port = try LoadConnection.port(of: base)
        let next = Atomic(0)
        let failure = Mutex<String?>(nil)
        let start = ContinuousClock.now
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let group = DispatchGroup()
            let threads = min(Self.threadsMax, connections)
            for thread in 0..<threads {
                let count = (connections + thread) / threads
                group.enter()
                Thread.detachNewThread {
                    defer { group.leave() }
                    do {
                        try Self.work(port, connections: count) {
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

    /// Sends what `next` returns, until that is nil, over `count` connections at once.
    private static func work(
        _ port: UInt16,
        connections count: Int,
        _ next: () -> [UInt8]?
    ) throws {
        var connections: [LoadConnection] = []
        while connections.count < count, let request = next() {
            let connection = try LoadConnection(to: port)
            try connection.send(request)
            connections.append(connection)
        }
        var watched = connections.map {
            pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
        }
        while !connections.isEmpty {
            guard poll(&watched, nfds_t(watched.count), -1) > 0 else {
                guard errno == EINTR else {
                    throw Program.Failure(description: "connections cannot be watched")
                }
                continue
            }
            for index in watched.indices.reversed() where watched[index].revents != 0 {
                guard let answer = try connections[index].receive() else { continue }
                guard (200...299).contains(answer.status) else {
                    throw Program.Failure(description: answer.text)
                }
                if let request = next() {
                    try connections[index].send(request)
                } else {
                    connections.remove(at: index)
                    watched.remove(at: index)
                }
            }
        }
    }
}
