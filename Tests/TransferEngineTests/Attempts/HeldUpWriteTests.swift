import Curl
import Foundation
import Synchronization
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferEngine

/// Writes that the disk holds up, and what goes on beside them.
@Suite(.timeLimit(.minutes(2))) struct HeldUpWriteTests {
    /// An attempt that tells of itself only once its gate is open.
    private final class SlowAttempt: TransferAttempt {
        let claim = LoneDownload.claim("http://a.test/")
        let connections = Connections()
        let isAsked = Mutex(false)
        let gate = DispatchSemaphore(value: 0)
        var progress: AttemptStatus {
            isAsked.withLock { $0 = true }
            gate.wait()
            return AttemptStatus(received: 5)
        }
        func begin(on _: CurlLoop) {}
        func yieldConnection() {}
        func abandon() {}
    }

    /// The progress of attempts, asked for by a thread of its own.
    private final class Report: Sendable {
        private let bytes = Mutex<[Int64]?>(nil)
        /// The bytes of each attempt that has news; nil until all have told.
        var told: [Int64]? { bytes.withLock(\.self) }

        init(of active: ActiveAttempts) {
            Thread.detachNewThread { [self] in
                let report = active.takeProgress()
                bytes.withLock { $0 = report.progress.map(\.bytesReceived) }
            }
        }
    }

    private static let head = ResponseHead(
        status: 200,
        headers: [(name: "ETag", value: SegmentedFile.etag)],
        contentLength: Int64(SegmentedFile.size)
    )

    /// Returns a download that has received its head.
    private static func begun() throws -> LoneDownload {
        let lone = try LoneDownload("http://a.test/")
        lone.download.prepare()
        #expect(lone.download.receive(head: head) == .proceed)
        return lone
    }

    /// Gives a download a piece of 1000 bytes.
    private static func give(_ download: Download) -> SinkVerdict {
        let piece = [UInt8](repeating: 1, count: 1000)
        return piece.withUnsafeBytes { download.receive(body: $0) }
    }

    /// Takes the mutex of a download, which its loop's thread has while it writes, until `gate` is
    /// signalled.
    private static func holdUp(_ download: Download, until gate: DispatchSemaphore) async throws {
        let isHeldUp = Mutex(false)
        Thread.detachNewThread {
            download.state.withLock { _ in
                isHeldUp.withLock { $0 = true }
                gate.wait()
            }
        }
        try await eventually("it is held up") { isHeldUp.withLock(\.self) }
    }

    private static func wasAbandoned(_ lone: LoneDownload) -> Bool {
        if case .abandoned = lone.ended?.end { true } else { false }
    }

    @Test func nobodyElseWaitsForOneAndNothingIsWrittenAfterIt() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = SegmentedFile.hold(origin)
        defer { gate.open() }
        let lone = try LoneDownload(origin.url("/file"))
        defer { lone.loops.stop() }
        let (active, download) = (lone.active, lone.download)
        #expect(active.insert(download))
        let there = Int64(SegmentedFile.front + SegmentedFile.behind)
        try await eventually("both connections have brought bytes") {
            download.progress.received == there
        }
        let disk = DispatchSemaphore(value: 0)
        defer { disk.signal() }
        try await Self.holdUp(download, until: disk)

        let other = RunningAttempt(LoneDownload.claim("http://b.test/", fence: 2))
        let seen = Mutex<(progress: [Int64], counts: [Int])?>(nil)
        Thread.detachNewThread {
            let report = active.takeProgress()
            var counts = [active.count]
            _ = active.insert(other)
            counts.append(active.count)
            _ = active.remove(other.claim)
            counts.append(active.count)
            download.yieldConnection()
            active.abandon([download])
            seen.withLock { $0 = (report.progress.map(\.bytesReceived), counts) }
        }
        try await eventually("nobody has waited") { seen.withLock { $0 != nil } }
        #expect(seen.withLock { $0?.progress } == [there])
        #expect(seen.withLock { $0?.counts } == [1, 2, 1])
        #expect(download.progress.received == there)

        // The rest is there when the write is over.
        gate.open()
        disk.signal()
        try await eventually("it has ended") { lone.ended != nil }
        #expect(Self.wasAbandoned(lone))
        #expect(lone.ended?.bytesReceived == there)
    }

    /// Also of one that has always been at a write when somebody asked.
    @Test func whatIsToldDuringAWriteIsAllBeforeIt() async throws {
        let lone = try Self.begun()
        defer { lone.loops.stop() }
        let download = lone.download
        for _ in 0..<2 { #expect(Self.give(download) == .proceed) }
        let disk = DispatchSemaphore(value: 0)
        defer { disk.signal() }
        try await Self.holdUp(download, until: disk)
        #expect(download.progress.received == 2000)
        #expect(download.progress.expected == Int64(SegmentedFile.size))
    }

    /// Whatever libcurl has read already, and before the loop has heard of the cancellation.
    @Test func noPieceIsWrittenAfterAnAbandonment() throws {
        let lone = try Self.begun()
        defer { lone.loops.stop() }
        let download = lone.download
        #expect(Self.give(download) == .proceed)
        download.abandon()
        #expect(Self.give(download) == .abort)
        #expect(download.progress.received == 1000)
        download.finish(.failure(CurlError(.aborted)))
        #expect(Self.wasAbandoned(lone))
        #expect(lone.ended?.bytesReceived == 1000)
    }

    @Test func noFileIsMadeAfterAnAbandonment() throws {
        let lone = try LoneDownload("http://a.test/")
        defer { lone.loops.stop() }
        let download = lone.download
        download.prepare()
        download.abandon()
        #expect(download.receive(head: Self.head) == .abort)
        download.finish(.failure(CurlError(.aborted)))
        #expect(Self.wasAbandoned(lone))
        #expect(lone.ended?.part == nil)
    }

    @Test func anAttemptThatIsSlowToTellHoldsUpNoOther() async throws {
        let lone = try LoneDownload("http://a.test/")
        defer { lone.loops.stop() }
        let active = lone.active
        let slow = SlowAttempt()
        defer { slow.gate.signal() }
        #expect(active.insert(slow))
        let report = Report(of: active)
        try await eventually("it is asked") { slow.isAsked.withLock(\.self) }
        let other = RunningAttempt(LoneDownload.claim("http://b.test/", fence: 2))
        let counts = Mutex<[Int]>([])
        Thread.detachNewThread {
            _ = active.insert(other)
            counts.withLock { $0.append(active.count) }
            _ = active.remove(other.claim)
            counts.withLock { $0.append(active.count) }
        }
        try await eventually("nobody has waited") { counts.withLock { $0 == [2, 1] } }
        #expect(report.told == nil)
        slow.gate.signal()
        try await eventually("it has told") { report.told == [5] }
    }

    /// Bytes that were there before would count as received just now.
    @Test func whatOneTellsIsNotTakenForWhatItsSuccessorDoes() async throws {
        let lone = try LoneDownload("http://a.test/")
        defer { lone.loops.stop() }
        let slow = SlowAttempt()
        defer { slow.gate.signal() }
        #expect(lone.active.insert(slow))
        let report = Report(of: lone.active)
        try await eventually("it is asked") { slow.isAsked.withLock(\.self) }
        #expect(lone.active.remove(slow.claim) == nil)
        #expect(lone.active.insert(RunningAttempt(slow.claim)))
        slow.gate.signal()
        try await eventually("it has told") { report.told == [] }
    }
}
