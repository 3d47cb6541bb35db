import Curl
import Foundation
import Synchronization
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferEngine

/// The slots of a worker, and attempts that wait for an earlier attempt of their task.
@Suite struct ActiveAttemptsTests {
    private static let task = TaskID(UUID())
    private static let session = SessionID(UUID())

    private let loops: CurlLoops

    init() throws { loops = try CurlLoops(name: "active", count: 3) }

    func active(_ connectionsMax: Int, perHost: Int) -> ActiveAttempts {
        ActiveAttempts(on: loops, connectionsMax: connectionsMax) {
            ConnectionSlots.Place(
                flow: $0.flow,
                perHost: perHost,
                perFlow: $0.maxConnectionsPerHost ?? .max
            )
        }
    }

    /// Attempts of tasks of their own at one host.
    static func attempts(_ count: Int64) -> [RunningAttempt] {
        (1...count).map { RunningAttempt(claim($0, of: TaskID(UUID()), hostKey: 7)) }
    }

    private static func claim(
        _ fence: Int64,
        of task: TaskID = task,
        hostKey: Int64 = 7,
        hasPartial: Bool = true,
        progressInterval: Duration? = nil,
        session: SessionID = session,
        maxConnectionsPerHost: Int? = nil
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
            session: session,
            hostKey: HostKey(rawValue: hostKey),
            number: 1,
            url: "http://a.test/",
            headers: [],
            destination: nil,
            timeoutForRequest: .seconds(1),
            timeoutForResource: .seconds(1),
            options: options,
            partial: hasPartial ? partial : nil,
            maxConnectionsPerHost: maxConnectionsPerHost
        )
    }

    /// Returns attempts of one task each.
    private static func attempts(at hostKeys: [Int64]) -> [RunningAttempt] {
        hostKeys.enumerated().map {
            RunningAttempt(claim(Int64($0), of: TaskID(UUID()), hostKey: $1))
        }
    }

    private static func waits(_ claim: TaskClaim, in active: ActiveAttempts) -> Bool {
        if case .postponed = active.postpone(claim) { true } else { false }
    }

    @Test func anAttemptWaitsForTheOneThatStillHasTheFile() {
        let active = active(8, perHost: 4)
        let old = Self.claim(1)
        #expect(active.insert(RunningAttempt(old)))
        #expect(Self.waits(Self.claim(2), in: active))
        // When several were given and taken away again, the last one counts.
        guard case .postponed(let former) = active.postpone(Self.claim(3)) else {
            Issue.record("it does not wait")
            return
        }
        // An attempt that has lost its place is reported, so that its slot is free.
        #expect(former?.fence == Fence(rawValue: 2))
        #expect(active.fences == [Fence(rawValue: 1), Fence(rawValue: 3)])
        #expect(active.count == 1)
        #expect(active.remove(old)?.fence == Fence(rawValue: 3))
        #expect(active.count == 0)
    }

    @Test func nobodyWaitsWithoutAReason() {
        let active = active(8, perHost: 4)
        let old = Self.claim(1)
        #expect(active.insert(RunningAttempt(old)))
        #expect(!Self.waits(Self.claim(2, hasPartial: false), in: active))
        #expect(!Self.waits(Self.claim(3, of: TaskID(UUID())), in: active))
        #expect(active.remove(old) == nil)
        #expect(!Self.waits(Self.claim(4), in: active))
    }

    @Test func whatIsTakenAwayWhileItWaitsDoesNotBegin() {
        let active = active(8, perHost: 4)
        let old = Self.claim(1)
        #expect(active.insert(RunningAttempt(old)))
        #expect(Self.waits(Self.claim(2), in: active))
        #expect(active.drop(postponed: [Fence(rawValue: 2)]).map(\.fence.rawValue) == [2])
        #expect(active.remove(old) == nil)
    }

    @Test func aClosedWorkerLetsNobodyIn() {
        let active = active(8, perHost: 4)
        #expect(active.insert(RunningAttempt(Self.claim(1))))
        #expect(active.close().count == 1)
        #expect(!active.insert(RunningAttempt(Self.claim(2, of: TaskID(UUID())))))
    }

    @Test func eventsComeNoOftenerThanAskedForAndOnlyForward() {
        let active = active(8, perHost: 4)
        let start = ContinuousClock.now
        let running = RunningAttempt(
            Self.claim(1, hasPartial: false, progressInterval: .seconds(10))
        )
        let silent = RunningAttempt(Self.claim(2, hasPartial: false))
        #expect(active.insert(running))
        #expect(active.insert(silent))
        func told(_ bytes: Int64, after seconds: Int) -> [Int64] {
            for attempt in [running, silent] { attempt.received.withLock { $0 = bytes } }
            let progress = active.takeProgress(at: start + .seconds(seconds)).progress
            // That nothing was stored is no reason to report it again.
            active.restore()
            return progress.filter(\.isTold).map(\.bytesReceived)
        }
        #expect(told(1, after: 0) == [])
        #expect(told(5, after: 9) == [])
        #expect(told(6, after: 10) == [6])
        #expect(told(7, after: 19) == [])
        #expect(told(8, after: 20) == [8])
        // Started again, and not yet at its previous position.
        #expect(told(3, after: 40) == [])
        #expect(told(8, after: 50) == [])
        #expect(told(9, after: 51) == [9])
    }

    @Test func progressIsToldOnceUntilItMoves() {
        let active = active(8, perHost: 4)
        #expect(active.insert(RunningAttempt(Self.claim(1))))
        #expect(active.takeProgress().progress.map(\.bytesReceived) == [5])
        #expect(active.takeProgress().progress.isEmpty)
        active.restore()
        #expect(active.takeProgress().progress.count == 1)
    }

    /// Bytes left by an earlier attempt do not mean that this one has heard from the host.
    @Test func whoseBytesMoveHasHeardOfItsHost() {
        let active = active(8, perHost: 4)
        let running = RunningAttempt(Self.claim(1))
        #expect(active.insert(running))
        #expect(active.takeProgress().heard.isEmpty)
        running.received.withLock { $0 += 1 }
        #expect(active.takeProgress().heard.map(\.fence.rawValue) == [1])
        #expect(active.takeProgress().heard.isEmpty)
    }

    @Test func aTaskGetsAConnectionThatAnotherOneCanSpare() {
        let active = active(8, perHost: 3)
        let download = RunningAttempt(Self.claim(1))
        #expect(active.insert(download))
        #expect(active.takeConnection(for: download.claim.fence))
        #expect(active.takeConnection(for: download.claim.fence))
        #expect(!active.takeConnection(for: download.claim.fence))
        let task = RunningAttempt(Self.claim(2, of: TaskID(UUID())))
        #expect(active.insert(task))
        #expect(download.wanted == 1)
        #expect(!task.hasBegun)
        // Not even a free one, as long as somebody waits.
        active.returnConnection(of: download.claim.fence)
        #expect(task.hasBegun)
        #expect(!active.takeConnection(for: download.claim.fence))
        // Nobody can spare more than one.
        let other = RunningAttempt(Self.claim(3, of: TaskID(UUID()), hostKey: 8))
        #expect(active.insert(other))
        #expect(other.hasBegun)
        _ = active.remove(task.claim)
        #expect(active.takeConnection(for: download.claim.fence))
    }

    @Test func whatWasClaimedAheadBeginsWhenThereIsAConnection() {
        let perHost = Mutex(2)
        let active = ActiveAttempts(on: loops, connectionsMax: 3) {
            ConnectionSlots.Place(flow: $0.flow, perHost: perHost.withLock { $0 })
        }
        let attempts = Self.attempts(5)
        for attempt in attempts { #expect(active.insert(attempt)) }
        #expect(attempts.map(\.hasBegun) == [true, true, false, false, false])
        // An attempt that waits for its own host holds up nobody elsewhere.
        let other = RunningAttempt(Self.claim(6, of: TaskID(UUID()), hostKey: 8))
        #expect(active.insert(other))
        #expect(other.hasBegun)
        _ = active.remove(attempts[0].claim)
        #expect(attempts.map(\.hasBegun) == [true, true, true, false, false])
        // The host is given less, and then more than before.
        perHost.withLock { $0 = 1 }
        _ = active.remove(attempts[1].claim)
        #expect(attempts.map(\.hasBegun) == [true, true, true, false, false])
        perHost.withLock { $0 = 2 }
        #expect(!attempts[3].hasBegun)
        active.beginWaiting(in: Set(Shard.all))
        #expect(attempts.map(\.hasBegun) == [true, true, true, true, false])
        // An attempt that never started leaves no connection behind.
        #expect(active.remove(attempts[4].claim) == nil)
        _ = active.remove(attempts[2].claim)
        #expect(active.takeConnection(for: attempts[3].claim.fence))
    }

    @Test func whoCameFirstBeginsFirstWhicheverHostItWaitsFor() {
        let active = active(1, perHost: 1)
        let attempts = Self.attempts(at: [9, 7, 7, 8, 7, 8, 9])
        for attempt in attempts { #expect(active.insert(attempt)) }
        // One of them is gone before its turn comes.
        active.abandon([attempts[3]])
        _ = active.remove(attempts[3].claim)
        for (index, attempt) in attempts.enumerated() where index != 3 {
            #expect(
                attempts.suffix(from: index).filter(\.hasBegun).map(\.claim.fence.rawValue)
                    == (index < 3 ? [Int64(index), 3] : [Int64(index)])
            )
            _ = active.remove(attempt.claim)
        }
        #expect(active.count == 0)
    }

    @Test func severalThatBeginAtOnceAreThoseThatCameFirst() {
        let perHost = Mutex(0)
        let active = ActiveAttempts(on: loops, connectionsMax: 4) {
            ConnectionSlots.Place(flow: $0.flow, perHost: perHost.withLock { $0 })
        }
        let attempts = Self.attempts(at: [9, 7, 7, 8, 7, 8, 9])
        for attempt in attempts { #expect(active.insert(attempt)) }
        #expect(attempts.filter(\.hasBegun).isEmpty)
        perHost.withLock { $0 = 7 }
        active.beginWaiting(in: Set(Shard.all))
        #expect(attempts.map(\.hasBegun) == [true, true, true, true, false, false, false])
    }

    @Test func whatHasNotBegunIsGivenBackBeforeAHostChangesHands() {
        let active = active(8, perHost: 1)
        let attempts = Self.attempts(2)
        for attempt in attempts { #expect(active.insert(attempt)) }
        let shard = HostKey(rawValue: 7).shard
        #expect(!active.withdraw(from: [shard]))
        active.beginWaiting(in: Set(Shard.all).subtracting([shard]))
        #expect(attempts.map(\.isAbandoned) == [false, true])
        #expect(active.withdraw(from: [shard]))
    }

    /// An attempt that had waited for something else finds its host with another worker.
    @Test func whatComesAfterAHostHasChangedHandsIsGivenBack() {
        let shard = HostKey(rawValue: 7).shard
        let active = ActiveAttempts(on: loops, connectionsMax: 8) {
            ConnectionSlots.Place(flow: $0.flow, perHost: $0.hostKey.shard == shard ? 0 : 4)
        }
        #expect(active.withdraw(from: [shard]))
        let late = RunningAttempt(Self.claim(1, of: TaskID(UUID()), hostKey: 7))
        #expect(active.insert(late))
        #expect(!late.hasBegun)
        // Its host is here, and all its connections are taken: it waits.
        active.beginWaiting(in: [shard])
        #expect(!late.isAbandoned)
        active.beginWaiting(in: [])
        // It starts only to end, and never had a connection.
        #expect(late.isAbandoned && late.hasBegun)
        _ = active.remove(late.claim)
        #expect(active.count == 0)
    }

    @Test func whatIsAbandonedBeforeItHasBegunEndsWithoutAConnection() {
        let active = active(8, perHost: 1)
        let attempts = Self.attempts(3)
        for attempt in attempts { #expect(active.insert(attempt)) }
        active.abandon([attempts[1]])
        #expect(attempts.map(\.hasBegun) == [true, true, false])
        // Its end gives nobody a connection that it never had.
        _ = active.remove(attempts[1].claim)
        #expect(!attempts[2].hasBegun)
        _ = active.remove(attempts[0].claim)
        #expect(attempts[2].hasBegun)
    }

    @Test func connectionsAreGivenUpBeforeAHostChangesHands() {
        let perHost = Mutex(4)
        let active = ActiveAttempts(on: loops, connectionsMax: 8) {
            ConnectionSlots.Place(flow: $0.flow, perHost: perHost.withLock { $0 })
        }
        let (here, there) = (HostKey(rawValue: 7), HostKey(rawValue: -7))
        let download = RunningAttempt(Self.claim(1, hostKey: here.rawValue))
        let other = RunningAttempt(Self.claim(2, of: TaskID(UUID()), hostKey: there.rawValue))
        for attempt in [download, other] {
            #expect(active.insert(attempt))
            #expect(active.takeConnection(for: attempt.claim.fence))
        }
        #expect(active.takeConnection(for: download.claim.fence))
        perHost.withLock { $0 = 0 }
        #expect(!active.withdraw(from: [here.shard]))
        #expect(download.wanted == 2)
        #expect(other.wanted == 0)
        // Asked once.
        #expect(!active.withdraw(from: [here.shard]))
        #expect(download.wanted == 2)
        active.returnConnection(of: download.claim.fence)
        #expect(!active.withdraw(from: [here.shard]))
        active.returnConnection(of: download.claim.fence)
        #expect(active.withdraw(from: [here.shard]))
        #expect(!active.takeConnection(for: download.claim.fence))
    }

    @Test func aSessionsCapHoldsForFurtherConnectionsToo() {
        let active = active(8, perHost: 4)
        let capped = RunningAttempt(
            Self.claim(1, session: SessionID(UUID()), maxConnectionsPerHost: 2)
        )
        let other = RunningAttempt(Self.claim(2, of: TaskID(UUID())))
        for attempt in [capped, other] { #expect(active.insert(attempt)) }
        #expect(active.takeConnection(for: capped.claim.fence))
        #expect(!active.takeConnection(for: capped.claim.fence))
        #expect(active.takeConnection(for: other.claim.fence))
        // The next task of that session waits for its own, although the other has one to spare.
        let next = RunningAttempt(
            Self.claim(
                3,
                of: TaskID(UUID()),
                session: capped.claim.session,
                maxConnectionsPerHost: 2
            )
        )
        #expect(active.insert(next))
        #expect(!next.hasBegun)
        #expect(capped.wanted == 1)
        #expect(other.wanted == 0)
    }

    /// In any sequence of events, there are never more connections than allowed, and nobody waits
    /// while one is free.
    @Test(arguments: 0..<100 as Range<UInt64>)
    func neverMoreConnectionsThanAllowed(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        let (total, perHost) = (6, 3)
        let active = active(total, perHost: perHost)
        var running: [RunningAttempt] = []
        var extras: [Fence: Int] = [:]
        for step in 1...300 {
            let attempt = running.filter(\.hasBegun).randomElement(using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0:
                // As claims do: some come before there is a connection for them.
                let hostKey = Int64.random(in: 0..<4, using: &generator)
                guard active.count < 2 * total else { continue }
                let new = RunningAttempt(
                    Self.claim(Int64(step), of: TaskID(UUID()), hostKey: hostKey)
                )
                running.append(new)
                #expect(active.insert(new))
            case 1:
                guard let attempt, extras[attempt.claim.fence, default: 0] == 0 else { continue }
                running.removeAll { $0 === attempt }
                _ = active.remove(attempt.claim)
            case 2:
                guard let attempt, active.takeConnection(for: attempt.claim.fence) else { continue }
                extras[attempt.claim.fence, default: 0] += 1
            default:
                guard let attempt, extras[attempt.claim.fence, default: 0] > 0 else { continue }
                extras[attempt.claim.fence, default: 0] -= 1
                if attempt.wanted > 0 { attempt.gaveUp() }
                active.returnConnection(of: attempt.claim.fence)
            }
            let open = running.filter(\.hasBegun)
            func count(_ attempts: [RunningAttempt]) -> Int {
                attempts.reduce(0) { $0 + 1 + extras[$1.claim.fence, default: 0] }
            }
            #expect(count(open) <= total)
            for hostKey in Set(open.map(\.claim.hostKey)) {
                #expect(count(open.filter { $0.claim.hostKey == hostKey }) <= perHost)
            }
            for attempt in running where !attempt.hasBegun {
                let here = count(open.filter { $0.claim.hostKey == attempt.claim.hostKey })
                #expect(here == perHost || count(open) == total)
            }
        }
    }
}
