import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct VitalsTests {
    /// What needs no new space succeeds meanwhile.
    @Test func aDatabaseWithoutSpaceIsKnown() async throws {
        let fixture = try await StoreFixture()
        #expect(!fixture.stores.database.lacksSpace)
        try await fixture.aside.executeScript(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE 'no space left on device' USING ERRCODE = '53100'; END $$;
            CREATE TRIGGER refusal BEFORE INSERT ON session
            FOR EACH ROW EXECUTE FUNCTION refuse();
            """
        )
        let failure = await #expect(throws: StoreError.self) {
            _ = try await fixture.stores.sessions.putSession(
                tenant: fixture.tenant,
                identifier: "another",
                configuration: SessionConfiguration()
            )
        }
        #expect(failure?.isUnavailable == true)
        _ = try await fixture.stores.fleet.vitals(silentFor: .seconds(60))
        #expect(fixture.stores.database.lacksSpace)
    }

    @Test(arguments: [0.0, 7200, -7200])
    func theDifferenceOfTheClocksIsKnown(ahead: Double) async throws {
        let fixture = try await StoreFixture()
        let asked = ContinuousClock.now
        let vitals = try await fixture.stores.fleet.vitals(
            silentFor: .seconds(60),
            now: { Date() + ahead }
        )
        // A slow answer makes it less, and never more.
        let slack = (ContinuousClock.now - asked) / .seconds(1)
        let difference = vitals.clockDifference
        #expect(abs(difference) <= abs(ahead))
        #expect(abs(difference - ahead) <= slack, "\(difference)")
    }

    /// As a standby does after a failover.
    @Test func aDatabaseThatTakesNoChangesDoesNotServe() async throws {
        let fixture = try await StoreFixture()
        #expect(try await fixture.stores.fleet.vitals(silentFor: .seconds(60)).workers == 0)
        let pool = TestDatabase.current.pool {
            $0.actAsService()
            $0.serverSettings["default_transaction_read_only"] = "on"
        }
        let stores = Stores(Database(pool: pool))
        let failure = await #expect(throws: StoreError.self) {
            _ = try await stores.fleet.vitals(silentFor: .seconds(60))
        }
        #expect(failure?.isUnavailable == true)
        #expect(failure?.reason == "the database is read-only")
    }
}
