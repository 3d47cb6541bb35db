import Foundation
import Logging
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct PostponedRenamesTests {
    private static let failure = TransferFailure(.storageFailure, "It failed.")
    private let now = ContinuousClock.now
    private let shortages: Shortages
    private let postponed: PostponedRenames

    init() {
        shortages = Shortages()
        postponed = PostponedRenames(
            shortages: shortages,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private static func rename(_ fence: Int64) -> PendingRename {
        PendingRename(
            task: TaskID(UUID()),
            fence: Fence(rawValue: fence),
            partFence: Fence(rawValue: fence),
            tenant: TenantID(UUID()),
            destination: nil,
            result: TransferResult(httpStatus: 200, bytesReceived: 1, isLengthVerified: true)
        )
    }

    /// Records that the renames with these fences were tried and have failed.
    static func fail(
        _ fences: ClosedRange<Int64>,
        in postponed: PostponedRenames,
        at now: ContinuousClock.Instant = .now
    ) {
        postponed.tried(
            fences.map { Fence(rawValue: $0) },
            failed: fences.map { (rename($0), failure) },
            at: now
        )
    }

    private func succeed(_ fences: ClosedRange<Int64>) {
        postponed.tried(fences.map { Fence(rawValue: $0) }, failed: [], at: now)
    }

    /// Returns the seconds from a failed try to the next one.
    private func pause() -> Int? {
        Self.fail(1...1, in: postponed, at: now)
        return (0...60).first { !postponed.takeDue(at: now + .seconds($0)).isEmpty }
    }

    @Test func pausesGrow() throws {
        let pauses = (0..<8).compactMap { _ in pause() }
        #expect(pauses.count == 8)
        // They are shortened at random, by half at most.
        #expect(pauses[0] <= 2)
        #expect(pauses[7] >= 15)
        #expect(pauses[7] <= 30)
        succeed(1...1)
        let first = try #require(pause())
        #expect(first <= 2)
    }

    /// One that is being tried is neither forgotten nor tried besides.
    @Test func whatIsTriedAgainStaysKnown() {
        Self.fail(1...2, in: postponed, at: now)
        let later = now + .seconds(10)
        #expect(postponed.takeDue(at: later).count == 2)
        #expect(postponed.takeDue(at: later).isEmpty)
        #expect(postponed.fences == [Fence(rawValue: 1), Fence(rawValue: 2)])
        succeed(1...1)
        #expect(postponed.fences == [Fence(rawValue: 2)])
        #expect(shortages.current == [.storageFailure])
        succeed(2...2)
        #expect(postponed.fences.isEmpty)
        #expect(shortages.current.isEmpty)
    }

    /// The files of other tasks wait behind those that are tried.
    @Test func aBatchIsBoundedAndBeginsWithTheOldest() {
        let count = Int64(PostponedRenames.batchMax)
        Self.fail(1...count, in: postponed, at: now)
        Self.fail(count + 1...2 * count, in: postponed, at: now - .seconds(10))
        let due = postponed.takeDue(at: now + .seconds(10))
        #expect(Set(due.map(\.fence.rawValue)) == Set(count + 1...2 * count))
        #expect(postponed.takeDue(at: now + .seconds(10)).count == PostponedRenames.batchMax)
    }

    @Test func manyOfThemStopClaims() {
        let count = Int64(PostponedRenames.countMax)
        Self.fail(1...count - 1, in: postponed, at: now)
        #expect(postponed.hasRoom)
        Self.fail(count...count, in: postponed, at: now)
        #expect(!postponed.hasRoom)
        succeed(1...1)
        #expect(postponed.hasRoom)
    }

    @Test func theNextWorkerGetsWhatWaitsWhenItIsStopped() {
        Self.fail(1...1, in: postponed, at: now)
        postponed.stop()
        #expect(shortages.current.isEmpty)
        Self.fail(1...2, in: postponed, at: now)
        #expect(postponed.fences.isEmpty)
        #expect(shortages.current.isEmpty)
    }
}
