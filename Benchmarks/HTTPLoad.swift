import Foundation
import Synchronization

/// Requests over a number of persistent connections, each sent when the last one was answered.
///
/// Each connection has one thread and nothing more, so that the load costs the machine as little as
/// that of pgbench does.
struct HTTPLoad {
    let base: String
    let connections: Int

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
        let connection = try LoadConnection(to: port)
        while let request = next() {
            let answer = try connection.exchange(request)
            guard (200...299).contains(answer.status) else {
                throw Program.Failure(description: answer.text)
            }
        }
    }
}
