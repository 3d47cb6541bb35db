import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Parts that are kept of tasks which are claimed and end in runs.
@Suite(.postgresSchema) struct KeptPartTests {
    /// What continues a part has a row of its own, and leaves no gap among the fences of the
    /// others.
    @Test func aPartInTheMiddleOfARunIsContinuedByItself() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        try await stores.parts.recordProgress([StoreFixture.progress(of: id, fence: claim.fence)])
        let token = ResumeDataID(UUID())
        _ = try await stores.control.cancelTask(tenant: fixture.tenant, id: id, producing: token)
        let ids = try await fixture.submit(5) { submission, index in
            if index == 2 { submission.resumeData = token }
        }
        let claims = try await fixture.claim()
        #expect(claims.map(\.task) == ids)
        #expect(claims.map { $0.partial?.partFence } == [nil, nil, claim.fence, nil, nil])
        try await fixture.checkInvariants()
        #expect(try await fixture.fetch(claims) == Set(ids))
        try await fixture.checkInvariants()
    }

    /// Whoever continues another task's file gives it the name of its own task, or starts over.
    @Test(arguments: [true, false])
    func theFileOfAnAttemptIsUnderTheNameOfItsTask(isContinued: Bool) async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let id = try await fixture.submit()[0]
        let first = try await fixture.claim()[0]
        try await stores.parts.recordProgress([StoreFixture.progress(of: id, fence: first.fence)])
        let token = ResumeDataID(UUID())
        _ = try await stores.control.cancelTask(tenant: fixture.tenant, id: id, producing: token)
        try await fixture.submit { submission, _ in submission.resumeData = token }
        let second = try await fixture.claim()[0]
        #expect(second.partial?.sourcePath != nil)
        let part = isContinued ? first.fence : second.fence
        let end = AttemptEnd(
            task: second.task,
            fence: second.fence,
            outcome: .released,
            partial: StoreFixture.progress(of: second.task, fence: part).checkpoint
        )
        #expect(try await stores.completions.end([end]) == [second.task])
        let third = try await fixture.claim()[0]
        #expect(third.partial?.partFence == part)
        #expect(third.partial?.sourcePath == nil)
        try await fixture.checkInvariants()
    }

    /// A file with bytes of an earlier attempt that is renamed leaves no part at its end.
    @Test func theEndOfARenameForgetsItsPart() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, index in
            submission.destination = Destination(path: "named/\(index)", overwrite: true)
        }
        let claims = try await fixture.claim()
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: ids[0], fence: claims[0].fence)
        ])
        #expect(try await fixture.count("SELECT count(*) AS count FROM partial") == 1)
        #expect(try await fixture.complete(claims) == Set(ids))
        #expect(try await fixture.count("SELECT count(*) AS count FROM partial") == 0)
        try await fixture.checkInvariants()
    }
}
