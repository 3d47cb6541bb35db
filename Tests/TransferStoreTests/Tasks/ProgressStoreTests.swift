import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Events that report the progress of a task.
@Suite(.postgresSchema) struct ProgressStoreTests {
    private static func progress(
        _ claim: TaskClaim,
        _ bytes: Int64,
        isTold: Bool = true
    ) -> AttemptProgress {
        AttemptProgress(
            task: claim.task,
            fence: claim.fence,
            bytesReceived: bytes,
            bytesExpected: 1000,
            bytesSent: 7,
            bytesPerSecond: 50,
            isTold: isTold
        )
    }

    @Test func whatIsToldIsAnEventInTheSessionsOrder() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(3)
        let claims = try await fixture.claim()
        let isTold = try await fixture.stores.parts.recordProgress([
            Self.progress(claims[0], 100), Self.progress(claims[1], 200, isTold: false),
            Self.progress(claims[2], 300),
        ])
        #expect(isTold)
        let events = try await fixture.events()
        #expect(events.map(\.sequence) == [1, 2, 3, 4, 5])
        let told = events.filter { $0.kind == .taskProgress }
        #expect(Set(told.compactMap(\.task?.id)) == [claims[0].task, claims[2].task])
        let task = try #require(told.first { $0.task?.id == claims[2].task }?.task)
        #expect(task.state == .running)
        #expect(task.attempt == 1)
        #expect(task.bytesReceived == 300)
        #expect(task.progress?.bytesExpected == 1000)
        #expect(task.progress?.bytesSent == 7)
        #expect(task.progress?.bytesToSend == nil)
        #expect(events[0].task?.progress == nil)
        for claim in claims {
            #expect(try await fixture.task(claim.task).bytesReceived > 0)
            #expect(try await fixture.task(claim.task).bytesPerSecond == 50)
        }
        try await fixture.checkInvariants()
    }

    @Test func whatIsNotToldIsNoEvent() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        let claim = try await fixture.claim()[0]
        let isTold = try await fixture.stores.parts.recordProgress([
            Self.progress(claim, 100, isTold: false)
        ])
        #expect(!isTold)
        #expect(try await fixture.events().map(\.kind) == [.taskCreated])
    }

    @Test func aResumptionThatIsRecordedLateTakesNothingBack() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([Self.progress(claim, 700)])
        let resumption = Resumption(task: id, fence: claim.fence, offset: 600)
        #expect(try await fixture.stores.parts.recordResumptions([resumption]) == [id])
        #expect(try await fixture.task(id).bytesReceived == 700)
    }

    /// The size is kept only where an origin has answered before it was sent all of it.
    @Test(arguments: [nil, 9] as [Int64?])
    func aCompletedUploadShowsTheSizeOfItsBody(size: Int64?) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit(1) { submission, _ in
            submission.request = TransferRequest(upload: .data([1]))
        }[0]
        let claim = try #require(try await fixture.claim().first)
        let result = TransferResult(
            httpStatus: 200,
            bytesReceived: 0,
            isLengthVerified: true,
            bytesToSend: size
        )
        let end = AttemptEnd(
            task: id,
            fence: claim.fence,
            outcome: .answered(result, body: []),
            bytesSent: 7
        )
        #expect(try await fixture.stores.completions.end([end]) == [id])
        let task = try await fixture.task(id)
        #expect(task.state == .completed)
        #expect(task.bytesSent == 7)
        #expect(task.bytesToSend == size ?? 7)
        try await fixture.checkInvariants()
    }

    @Test func afterTheEndNothingIsTold() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(3)
        let claims = try await fixture.claim()
        try await fixture.complete([claims[0]])
        // Also past the point of no return.
        try await fixture.beginRenames([claims[1]])
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: claims[2].task)
        let before = try await fixture.events().count
        for claim in claims {
            #expect(try await !fixture.stores.parts.recordProgress([Self.progress(claim, 900)]))
        }
        #expect(try await fixture.events().count == before)
        try await fixture.checkInvariants()
    }

    @Test func anEndAtTheSameTimeIsNeverBeforeIt() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        for round in 0..<40 {
            let id = try await fixture.submit()[0]
            let claim = try await fixture.claim()[0]
            async let told = fixture.stores.parts.recordProgress([Self.progress(claim, 500)])
            if round % 2 == 0 {
                async let ended = fixture.end([claim], .failed(StoreFixture.failure))
                _ = try await (told, ended)
            } else {
                async let ended = fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
                _ = try await (told, ended)
            }
            let kinds = try await fixture.events().filter { $0.task?.id == id }.map(\.kind)
            #expect(kinds.last != .taskProgress)
        }
        try await fixture.checkInvariants()
    }
}
