import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct ScaleWorldTests {
    @Test func isAsTheServiceWouldHaveWrittenIt() async throws {
        let fixture = try await StoreFixture()
        let world = try await ScaleWorld(
            tasks: 1000,
            of: fixture.tenant,
            worker: fixture.worker,
            in: fixture.stores,
            by: fixture.aside
        )
        try await fixture.checkInvariants()
        for state in [
            TransferState.queued, .suspended, .scheduled, .waitingForRetry,
            .waitingForConnectivity, .waitingToBegin, .waitingForAuthentication,
        ] {
            #expect(try await fixture.state(world.large(state)) == state)
        }
        #expect(try await fixture.state(world.kept(7)) == .failed)
        #expect(
            try await fixture.stores.tasks.isExpired(tenant: world.tenant, id: world.expired(7))
        )
        #expect(try await fixture.session(ScaleWorld.large).id == world.session(0))
    }
}
