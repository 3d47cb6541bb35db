import Curl
import Foundation
import PollLoop
import Synchronization
import Testing
import TransferContainer
import TransferModel
import TransferTestSupport

@testable import TransferEngine

/// Connections of a download that are given up on one thread while they join on another.
@Suite(.timeLimit(.minutes(2))) struct SegmentYieldTests {
    private static func claim(_ url: String) -> TaskClaim {
        TaskClaim(
            task: TaskID(.version7()),
            fence: Fence(rawValue: 1),
            tenant: TenantID(UUID()),
            session: SessionID(UUID()),
            hostKey: HostKey(rawValue: 1),
            number: 1,
            url: url,
            headers: [],
            destination: nil,
            timeoutForRequest: .seconds(600),
            timeoutForResource: .seconds(600)
        )
    }

    /// Between its assignment and its request there is nothing to cancel.
    @Test func aConnectionThatIsGivenUpWhileItJoinsEnds() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        defer { gate.open() }
        origin.when("/file") {
            .file(
                SegmentedFile.body,
                etag: SegmentedFile.etag,
                for: $0,
                pause: ($0["Range"] == nil ? SegmentedFile.front : SegmentedFile.behind, gate)
            )
        }
        let folder = try TestFolder("yield")
        defer { withExtendedLifetime(folder) {} }
        let container = try Container(directory: folder.path)
        let loops = try CurlLoops(name: "yield-test", count: 1)
        defer { loops.stop() }
        let active = ActiveAttempts(on: loops, connectionsMax: 2) {
            ConnectionSlots.Place(flow: $0.flow)
        }
        var configuration = EngineConfiguration(egress: EgressGuard { _ in true })
        SegmentedFile.once(&configuration)
        let joining = Mutex<Download?>(nil)
        let isWhole = Mutex(false)
        let claim = Self.claim(origin.url("/file"))
        let download = Download(
            claim,
            url: try CurlURL(claim.url),
            container: container,
            packs: Packs(container),
            disk: try BlockingPool<TenantID>(name: "yield-disk", threadsMax: 1),
            configuration: configuration,
            active: active,
            verifier: try Verifier(),
            // The last question before the request of the second connection is known.
            mayBegin: {
                guard let download = joining.withLock(\.self),
                    download.state.withLock({ $0.segments?.running }) == 2
                else { return true }
                joining.withLock { $0 = nil }
                download.yieldConnection()
                return true
            },
            onReached: { _ in },
            onCheckpoint: {},
            onEnd: { ended in
                if case .finished = ended.end { isWhole.withLock { $0 = true } }
            }
        )
        joining.withLock { $0 = download }
        #expect(active.insert(download))
        try await eventually("a connection is given up") { joining.withLock { $0 == nil } }
        try await eventually("it has ended") {
            download.state.withLock { $0.segments?.running } == 1
        }
        gate.open()
        try await eventually("the other one has brought all") { isWhole.withLock(\.self) }
    }
}
