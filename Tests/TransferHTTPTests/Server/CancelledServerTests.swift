import Glibc
import Logging
import Testing
import TransferTestSupport

@testable import TransferHTTP

/// Connections that were accepted and never served, which would make SwiftNIO stop the process.
@Suite(.timeLimit(.minutes(2))) struct CancelledServerTests {
    @Test func connectionsThatNobodyTookAreClosed() async throws {
        let logger = Logger(label: "http-tests", factory: { _ in SwiftLogNoOpLogHandler() })
        let probes = ProbeAPI(health: .fixture(), logger: logger)
        for _ in 0..<50 {
            let open = Sockets()
            try await APIServer.serving(
                by: { probes.application(host: "127.0.0.1", port: 0, onServerRunning: $0) },
                { port in
                    let client = HTTPClient(port: port)
                    try await client.open(20, into: open)
                }
            )
            #expect(try await open.areClosedByTheServer())
        }
    }
}

/// Connections on which nothing is sent.
private final class Sockets: @unchecked Sendable {
    // These are written before the server is cancelled, and read after it.
    fileprivate var descriptors: [Int32] = []

    deinit { for descriptor in descriptors { close(descriptor) } }

    /// Returns whether each ends without a byte; reads wait a minute at most.
    func areClosedByTheServer() async throws -> Bool {
        try await onThread { [descriptors] in
            var byte: UInt8 = 0
            return descriptors.allSatisfy { recv($0, &byte, 1, 0) == 0 || errno == ECONNRESET }
        }
    }
}

extension HTTPClient {
    fileprivate func open(_ count: Int, into sockets: Sockets) async throws {
        for _ in 0..<count { sockets.descriptors.append(try Self.connect(port)) }
    }
}
