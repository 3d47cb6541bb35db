import Postgres
import Testing
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct VitalsTests {
    /// As a standby does after a failover.
    @Test func aDatabaseThatTakesNoChangesDoesNotServe() async throws {
        let fixture = try await StoreFixture()
        #expect(try await fixture.stores.workers.vitals(silentFor: .seconds(60)).workers == 0)
        let pool = TestDatabase.current.pool {
            $0.actAsService()
            $0.serverSettings["default_transaction_read_only"] = "on"
        }
        let stores = Stores(Database(pool: pool))
        let failure = await #expect(throws: StoreError.self) {
            _ = try await stores.workers.vitals(silentFor: .seconds(60))
        }
        #expect(failure?.isUnavailable == true)
        #expect(failure?.reason == "the database is read-only")
    }
}
