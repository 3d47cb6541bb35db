import Foundation
import Synchronization
import Testing
import TransferModel

@testable import TransferEngine

/// The slots of a worker, and attempts that wait for another one of their task.
@Suite struct ActiveAttemptsTests {
    private final class Running: TransferAttempt {
        let claim: TaskClaim
        let current = CurrentTransfer()
        let received = Mutex<Int64>(5)
        var progress: AttemptStatus { AttemptStatus(received: received.withLock { $0 }) }
        init(_ claim: TaskClaim) { self.claim = claim }
        func abandon() {}
    }

    private static let task = TaskID(UUID())

    private static func claim(
        _ fence: Int64,
        of task: TaskID = task,
        hasPartial: Bool = true,
        progressInterval: Duration? = nil
    ) -> TaskClaim {
        var options = TransferOptions()
        options.progressInterval = progressInterval
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
            options: options,
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

    @Test func eventsComeNoOftenerThanAskedForAndOnlyForward() {
        let active = ActiveAttempts()
        let start = ContinuousClock.now
        let running = Running(Self.claim(1, hasPartial: false, progressInterval: .seconds(10)))
        let silent = Running(Self.claim(2, hasPartial: false))
        #expect(active.insert(running))
        #expect(active.insert(silent))
        func told(_ bytes: Int64, after seconds: Int) -> [Int64] {
            for attempt in [running, silent] { attempt.received.withLock { $0 = bytes } }
            let progress = active.takeProgress(at: start + .seconds(seconds)).progress
            // That nothing was stored is no reason to tell it again.
            active.restore()
            return progress.filter(\.isTold).map(\.bytesReceived)
        }
        #expect(told(1, after: 0) == [])
        #expect(told(5, after: 9) == [])
        #expect(told(6, after: 10) == [6])
        #expect(told(7, after: 19) == [])
        #expect(told(8, after: 20) == [8])
        // Begun anew, and not yet where it was.
        #expect(told(3, after: 40) == [])
        #expect(told(8, after: 50) == [])
        #expect(told(9, after: 51) == [9])
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
