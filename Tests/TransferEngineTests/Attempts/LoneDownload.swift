import Curl
import Foundation
import PollLoop
import Synchronization
import TransferContainer
import TransferModel
import TransferTestSupport

@testable import TransferEngine

/// A download outside of a worker, with slots and a loop of its own; it is divided once, as soon as
/// bytes flow.
final class LoneDownload: Sendable {
    private final class Ending: Sendable {
        let value = Mutex<EndedDownload?>(nil)
    }

    let loops: CurlLoops
    let active: ActiveAttempts
    let download: Download
    private let folder: TestFolder
    private let ending: Ending

    /// What the download has handed over; nil as long as it has not ended.
    var ended: EndedDownload? { ending.value.withLock(\.self) }

    init(_ url: String, mayBegin: @escaping @Sendable () -> Bool = { true }) throws {
        let folder = try TestFolder("lone")
        let loops = try CurlLoops(name: "lone", count: 1)
        let active = ActiveAttempts(on: loops, connectionsMax: 2) {
            ConnectionSlots.Place(flow: $0.flow)
        }
        let ending = Ending()
        var configuration = EngineConfiguration(egress: EgressGuard { _ in true })
        SegmentedFile.once(&configuration)
        let container = try Container(directory: folder.path)
        download = Download(
            Self.claim(url),
            url: try CurlURL(url),
            container: container,
            packs: Packs(container),
            disk: try BlockingPool<TenantID>(name: "lone-disk", threadsMax: 1),
            configuration: configuration,
            active: active,
            verifier: try Verifier(),
            mayBegin: mayBegin,
            onReached: { _ in },
            onCheckpoint: {},
            onEnd: { end in ending.value.withLock { $0 = end } }
        )
        self.folder = folder
        self.loops = loops
        self.active = active
        self.ending = ending
    }

    static func claim(_ url: String, fence: Int64 = 1) -> TaskClaim {
        TaskClaim(
            task: TaskID(.version7()),
            fence: Fence(rawValue: fence),
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
}
