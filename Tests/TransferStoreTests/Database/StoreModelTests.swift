import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Random operations on the store, compared with a model of it in memory.
@Suite(.postgresSchema) struct StoreModelTests {
    @Test(arguments: [1, 2, 3, 5, 8, 13] as [UInt64])
    func doesWhatTheModelDoes(seed: UInt64) async throws {
        var run = StoreModelRun(fixture: try await StoreFixture(), seed: seed)
        for _ in 0..<120 {
            try await run.step()
            try await run.compare()
        }
        try await run.fixture.checkInvariants()
        try await run.drain()
        try await run.fixture.checkInvariants()
    }
}

/// One random walk; the same for the same seed.
private struct StoreModelRun {
    let fixture: StoreFixture
    private var random: SeededGenerator
    /// The state of each task, changed by the code's state table alone.
    private var states: [TaskID: TransferState] = [:]
    private var order: [TaskID] = []
    /// The attempts of the live worker, and which of them have begun their renames.
    private var claims: [TaskID: TaskClaim] = [:]
    private var begun: Set<TaskID> = []
    private var worker: WorkerIdentity

    init(fixture: StoreFixture, seed: UInt64) {
        self.fixture = fixture
        random = SeededGenerator(state: seed)
        worker = fixture.worker
    }

    mutating func step() async throws {
        switch Int.random(in: 0..<13, using: &random) {
        case 0, 1: try await submit()
        case 2, 3: try await claim()
        case 4: try await beginRenames()
        case 5: try await end()
        case 6: try await cancel()
        case 7: try await resume()
        case 8: try await promote()
        case 9: try await suspend()
        case 10: try await checkpoint()
        case 11: try await retry()
        default: try await takeOver()
        }
    }

    func compare() async throws {
        for id in order {
            let state = try await fixture.state(id)
            #expect(state == states[id], "after \(order.count) submissions")
        }
        let outstanding = states.values.count { !$0.isTerminal }
        #expect(try await fixture.session().progress.outstanding == Int64(outstanding))
    }

    /// Ends everything, so that the last generation ends too.
    mutating func drain() async throws {
        for id in order where states[id]?.isTerminal == false && !begun.contains(id) {
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            move(id, .cancelled)
        }
        try await fixture.end(begun.compactMap { claims[$0] }, .completed)
        for id in begun { move(id, .completed) }
        try await compare()
        #expect(try await fixture.events().last?.kind == .sessionEventsFinished)
    }

    private mutating func move(_ id: TaskID, _ event: TransferEvent) {
        guard let state = states[id], let next = state.after(event) else {
            Issue.record("the model has no move \(event) from \(String(describing: states[id]))")
            return
        }
        states[id] = next
        if next != .running {
            claims[id] = nil
            begun.remove(id)
        }
    }

    private mutating func submit() async throws {
        let count = Int.random(in: 1...3, using: &random)
        let kinds = (0..<count).map { _ in Int.random(in: 0..<4, using: &random) }
        let ids = try await fixture.submit(count) { submission, index in
            if kinds[index] == 0 { submission.autostart = false }
            if kinds[index] == 1 {
                submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
            }
        }
        for (id, kind) in zip(ids, kinds) {
            states[id] = kind == 0 ? .suspended : kind == 1 ? .scheduled : .queued
        }
        order += ids
    }

    private mutating func claim() async throws {
        let limit = Int.random(in: 1...4, using: &random)
        let claimed = try await fixture.claim(limit, by: worker)
        #expect(claimed.count == min(limit, states.values.count { $0 == .queued }))
        for claim in claimed {
            move(claim.task, .claimed)
            claims[claim.task] = claim
        }
    }

    private mutating func beginRenames() async throws {
        guard let claim = pick(claims.keys.filter { !begun.contains($0) }) else { return }
        #expect(try await fixture.beginRenames([claim]) == [claim.task])
        begun.insert(claim.task)
    }

    private mutating func end() async throws {
        guard let claim = pick(Array(claims.keys)) else { return }
        let choices: [(AttemptOutcome, TransferEvent)] =
            begun.contains(claim.task)
            ? [(.completed, .completed), (.failed(StoreFixture.failure), .failed)]
            : [
                (.fetched(StoreFixture.result, part: claim.fence), .completed),
                (.failed(StoreFixture.failure), .failed), (.released, .released),
                (.requeued, .released),
                (.retry(StoreFixture.failure, after: .seconds(3600)), .retryScheduled),
            ]
        let (outcome, event) = choices[Int.random(in: 0..<choices.count, using: &random)]
        #expect(try await fixture.end([claim], outcome) == [claim.task])
        move(claim.task, event)
    }

    private mutating func cancel() async throws {
        guard let id = order.randomElement(using: &random), let state = states[id] else { return }
        let task = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
        if !state.isTerminal, !begun.contains(id) { move(id, .cancelled) }
        #expect(task?.state == states[id])
    }

    private mutating func retry() async throws {
        guard let id = order.randomElement(using: &random), let state = states[id] else { return }
        let result = try await fixture.stores.retries.retryTask(
            tenant: fixture.tenant,
            id: id,
            hasBody: false
        )
        switch (result, state) {
        case (.completed, .completed): break
        case (.answered(let task), .failed), (.answered(let task), .cancelled):
            move(id, task.state == .scheduled ? .scheduled : .retried)
        case (.answered(let task), _): #expect(task.state == state)
        default: Issue.record("\(state) became \(result)")
        }
    }

    private mutating func suspend() async throws {
        guard let id = order.randomElement(using: &random), let state = states[id] else { return }
        let task = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: id).task
        if state.after(.suspended) != nil, !begun.contains(id) { move(id, .suspended) }
        #expect(task?.state == states[id])
    }

    /// Checkpoints a part worth keeping, of an attempt that may be over already.
    private mutating func checkpoint() async throws {
        guard let id = order.randomElement(using: &random) else { return }
        let fence = claims[id]?.fence ?? worker.reserve(1).first
        try await fixture.stores.parts.recordProgress([StoreFixture.progress(of: id, fence: fence)])
    }

    private mutating func resume() async throws {
        guard let id = order.randomElement(using: &random) else { return }
        let task = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
        if states[id] == .suspended { move(id, .resumed) }
        #expect(task?.state == states[id])
    }

    /// Makes all waiting tasks due, then promotes them.
    private mutating func promote() async throws {
        _ = try await fixture.aside.execute("UPDATE delayed SET due_at = now()")
        let waiting = order.filter { states[$0] == .scheduled || states[$0] == .waitingForRetry }
        #expect(try await fixture.stores.queue.promoteDue().promoted == waiting.count)
        for id in waiting { move(id, .promoted) }
    }

    /// Lets the worker die; another one takes over its work and continues it.
    private mutating func takeOver() async throws {
        let successor = try await fixture.otherWorker()
        try await fixture.silence(worker)
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: .seconds(600),
            identity: successor
        )
        #expect(Set(takeover.pendingRenames.map(\.task)) == begun)
        #expect(
            Set(takeover.attempts.map(\.task)) == Set(claims.keys).subtracting(begun)
        )
        let old = Array(claims.values)
        #expect(try await fixture.end(old, .released).isEmpty)
        for claim in takeover.attempts { claims[claim.task] = claim }
        for pendingRename in takeover.pendingRenames {
            claims[pendingRename.task] = claims[pendingRename.task]?.fenced(pendingRename.fence)
        }
        worker = successor
    }

    /// Picks one of the attempts, the same for the same seed.
    private mutating func pick(_ ids: [TaskID]) -> TaskClaim? {
        ids.sorted { "\($0)" < "\($1)" }.randomElement(using: &random).flatMap { claims[$0] }
    }
}

extension TaskClaim {
    /// Returns the same claim with another fence.
    fileprivate func fenced(_ fence: Fence) -> TaskClaim {
        TaskClaim(
            task: task,
            fence: fence,
            tenant: tenant,
            session: session,
            hostKey: hostKey,
            number: number,
            url: url,
            headers: headers,
            destination: destination,
            timeoutForRequest: timeoutForRequest,
            timeoutForResource: timeoutForResource
        )
    }
}
