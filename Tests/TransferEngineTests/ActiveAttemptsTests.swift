import Foundation
import Testing
import TransferModel

@testable import TransferEngine

/// The slots of a worker, and attempts that wait for another one of their task.
@Suite struct ActiveAttemptsTests {
    private final class Running: TransferAttempt {
        let claim: TaskClaim
        let current = CurrentTransfer()
        var progress: AttemptStatus { AttemptStatus(received: 5) }
        init(_ claim: TaskClaim) { self.claim = claim }
        func abandon() {}
    }

    private static let task = TaskID(UUID())

    private static func claim(
        _ fence: Int64,
        of task: TaskID = task,
        hasPartial: Bool = true
    ) -> TaskClaim {
        let partial = PartialDownload(
            partFence: Fence(rawValue: 1),
            bootID: UUID(),
            bytesDurable: 0,
            bytesTotal: 10,
            validator: EntityValidator(stored: "\"1\"")
        )
        return TaskClaim(
            task: task,
            fence: Fence(rawValue: fence),
            tenant: TenantID(UUID()),
            session: SessionID(UUID()),
            lane: Lane(key: 7),
            number: 1,
            url: "http://a.test/",
            headers: [],
            destination: nil,
            timeoutForRequest: .seconds(1),
            timeoutForResource: .seconds(1),
            partial: hasPartial ? partial : nil
        )
    }

    @Test func anAttemptWaitsForTheOneThatStillHasTheFile() {
        let active = ActiveAttempts()
        let old = Self.claim(1)
        #expect(active.insert(Running(old)))
        #expect(active.postpone(Self.claim(2)))
        // Of several that were given and taken away again, the last one counts.
        #expect(active.postpone(Self.claim(3)))
        #expect(active.count == 1)
        #expect(active.remove(old)?.fence == Fence(rawValue: 3))
        #expect(active.count == 0)
        #expect(active.busy.isEmpty)
    }

    @Test func nobodyWaitsWithoutAReason() {
        let active = ActiveAttempts()
        let old = Self.claim(1)
        #expect(active.insert(Running(old)))
        #expect(!active.postpone(Self.claim(2, hasPartial: false)))
        #expect(!active.postpone(Self.claim(3, of: TaskID(UUID()))))
        #expect(active.remove(old) == nil)
        #expect(!active.postpone(Self.claim(4)))
    }

    @Test func whatIsTakenAwayWhileItWaitsDoesNotBegin() {
        let active = ActiveAttempts()
        let old = Self.claim(1)
        #expect(active.insert(Running(old)))
        #expect(active.postpone(Self.claim(2)))
        active.drop(postponed: [Fence(rawValue: 2)])
        #expect(active.remove(old) == nil)
    }

    @Test func aClosedWorkerLetsNobodyIn() {
        let active = ActiveAttempts()
        #expect(active.insert(Running(Self.claim(1))))
        #expect(active.all(closing: true).count == 1)
        #expect(!active.insert(Running(Self.claim(2, of: TaskID(UUID())))))
    }

    @Test func progressIsToldOnceUntilItMoves() {
        let active = ActiveAttempts()
        #expect(active.insert(Running(Self.claim(1))))
        #expect(active.takeProgress().progress.map(\.bytesReceived) == [5])
        #expect(active.takeProgress().progress.isEmpty)
        active.restore()
        #expect(active.takeProgress().progress.count == 1)
    }
}
