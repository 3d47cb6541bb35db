import Curl
import Foundation
import Logging
import PollLoop
import Synchronization
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct ExchangeTests {
    /// Until its slot is free, it may be asked how far it is, and longer it may be held.
    @Test func whatHasEndedTellsHowFarItGotAndHoldsNoFile() async throws {
        let fixture = try await EngineFixture()
        try fixture.place([1, 2, 3], at: "file")
        fixture.origin.when("/in", .response(201))
        let loops = try CurlLoops(name: "exchange", count: 1)
        defer { loops.stop() }
        let claim = TaskClaim(
            task: TaskID(.version7()),
            fence: Fence(rawValue: 1),
            tenant: fixture.tenant,
            session: SessionID(.version7()),
            hostKey: HostKey(rawValue: 1),
            number: 1,
            url: fixture.origin.url("/in"),
            request: TransferRequest(upload: .file(path: "file")),
            headers: [],
            destination: nil,
            timeoutForRequest: .seconds(60),
            timeoutForResource: .seconds(60)
        )
        let ended = Mutex<EndedExchange?>(nil)
        let exchange = Exchange(
            claim,
            url: try CurlURL(claim.url),
            container: try Container(directory: fixture.directory),
            disk: try BlockingPool<TenantID>(name: "exchange-disk", threadsMax: 1),
            configuration: EngineConfiguration(egress: EgressGuard { _ in true }),
            uploadResources: UploadResourceKeeper(
                store: fixture.stores.uploadResources,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ),
            onReached: { _ in }
        ) { end in
            ended.withLock { $0 = end }
        }
        exchange.begin(on: loops.first)
        try await eventually("it has ended") { ended.withLock { $0 != nil } }
        #expect(ended.withLock { $0?.bytesSent } == 3)
        #expect(exchange.progress.sent == 3)
        #expect(exchange.progress.toSend == 3)
        #expect(exchange.state.withLock { $0.file == nil })
    }
}
