import Curl
import Synchronization
import Testing
import TransferTestSupport

@testable import TransferEngine

/// Connections of a download that are to be given up while they join.
@Suite(.timeLimit(.minutes(2))) struct SegmentYieldTests {
    /// Between its assignment and its request there is nothing to cancel.
    @Test func aConnectionThatIsGivenUpWhileItJoinsEnds() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = SegmentedFile.hold(origin)
        defer { gate.open() }
        let joining = Mutex<Download?>(nil)
        let lone = try LoneDownload(
            origin.url("/file"),
            // The last question before the request of the second connection is known.
            mayBegin: {
                guard let download = joining.withLock(\.self),
                    download.state.withLock({ $0.segments?.running }) == 2
                else { return true }
                joining.withLock { $0 = nil }
                download.yieldConnection()
                return true
            }
        )
        defer { lone.loops.stop() }
        let download = lone.download
        joining.withLock { $0 = download }
        #expect(lone.active.insert(download))
        try await eventually("a connection is given up") { joining.withLock { $0 == nil } }
        try await eventually("it has ended") {
            download.state.withLock { $0.segments?.running } == 1
        }
        gate.open()
        try await eventually("the other one has brought all") {
            if case .finished = lone.ended?.end { true } else { false }
        }
    }
}
