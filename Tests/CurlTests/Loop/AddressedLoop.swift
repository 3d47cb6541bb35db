import PollLoop
import Synchronization

@testable import Curl

/// A loop whose transfers are told the addresses of names, so that no name server has to know them.
final class AddressedLoop: Sendable {
    private let loop: PollLoop
    private let driver: MultiDriver
    private let lastID = Atomic<UInt64>(0)

    init() throws {
        loop = try PollLoop(name: "curl-test")
        driver = try MultiDriver(
            loop: loop,
            connectionsMax: 16,
            kept: KeptConnections(countMax: 16),
            names: CurlLoop.namePool(),
            certificateFile: nil
        )
    }

    deinit {
        loop.execute { [driver] in driver.stop() }
        loop.stop()
    }

    /// Runs a transfer to a host with these addresses, through a proxy with those.
    func run(
        _ request: CurlRequest,
        at addresses: [String],
        through proxyAddresses: [String]? = nil
    ) async throws -> Result<CurlSummary, CurlError>? {
        let url = try request.validated()
        let id = lastID.add(1, ordering: .relaxed).newValue
        let sink = RecordingSink()
        loop.execute { [driver] in
            var start = TransferStart(request, url: url, sink: sink, at: .now)
            start.add(addresses)
            if let proxyAddresses { start.add(proxyAddresses) }
            driver.proceed(id, start)
        }
        return await sink.result
    }
}
