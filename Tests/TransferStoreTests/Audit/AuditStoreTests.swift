import Foundation
import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// The audit log, and what shows that somebody has altered it.
@Suite(.postgresSchema) struct AuditStoreTests {
    static func entry(_ object: String) -> AuditEntry {
        AuditEntry(actor: "key", action: "PUT", object: object)
    }

    /// Seals everything; transactions of other tests make the chain wait.
    static func seal(_ stores: Stores) async throws {
        try await eventually("everything is sealed", within: .seconds(180)) {
            while try await stores.audit.seal() != nil {}
            return try await stores.audit.verify().unsealed == 0
        }
    }

    /// Returns a log of three blocks with two entries each.
    static func log() async throws -> StoreFixture {
        let fixture = try await StoreFixture()
        for block in 1...3 {
            try await fixture.stores.audit.record([entry("\(block)a"), entry("\(block)b")])
            try await seal(fixture.stores)
        }
        return fixture
    }

    /// Does what only somebody with the rights of the owner can.
    static func tamper(_ fixture: StoreFixture, _ statements: Query...) async throws {
        let unguarded: Query = "SELECT set_config('session_replication_role', 'replica', true)"
        _ = try await fixture.aside.execute([unguarded] + statements)
    }

    @Test func whatNobodyAlteredIsFoundWhole() async throws {
        let fixture = try await Self.log()
        let report = try await fixture.stores.audit.verify()
        #expect(report.findings.isEmpty)
        #expect(report.blocks == 3 && report.entries == 6 && report.unsealed == 0)
        #expect(report.end.number == 3 && report.end.sha256.count == 32)
        #expect(try await fixture.stores.audit.seal() == nil)
        #expect(try await fixture.stores.audit.verify(kept: report.end).findings.isEmpty)
        let listed = try await fixture.stores.audit.entries(before: nil, limit: 4)
        #expect(listed.map(\.entry.object) == ["3b", "3a", "2b", "2a"])
        let rest = try await fixture.stores.audit.entries(before: listed[3].position, limit: 9)
        #expect(rest.map(\.entry.object) == ["1b", "1a"])
    }

    @Test func anAlteredEntryShows() async throws {
        let fixture = try await Self.log()
        try await Self.tamper(
            fixture,
            "UPDATE audit_entry SET actor = 'another' WHERE object = '2a'"
        )
        #expect(
            try await fixture.stores.audit.verify().findings
                == [.entriesAltered(block: 2, sealed: 2, found: 2)]
        )
    }

    @Test func aRemovedEntryShows() async throws {
        let fixture = try await Self.log()
        try await Self.tamper(fixture, "DELETE FROM audit_entry WHERE object = '1b'")
        #expect(
            try await fixture.stores.audit.verify().findings
                == [.entriesAltered(block: 1, sealed: 2, found: 1)]
        )
    }

    @Test func anEntryThatWasAddedLaterShows() async throws {
        let fixture = try await Self.log()
        try await Self.tamper(
            fixture,
            """
            INSERT INTO audit_entry (epoch, transaction, action, object)
            SELECT epoch, transaction, 'PUT', 'invented' FROM audit_entry WHERE object = '2b'
            """
        )
        #expect(
            try await fixture.stores.audit.verify().findings
                == [.entriesAltered(block: 2, sealed: 2, found: 3)]
        )
    }

    @Test func entriesInAnotherOrderShow() async throws {
        let fixture = try await Self.log()
        try await Self.tamper(
            fixture,
            """
            UPDATE audit_entry e SET object = o.object, recorded_at = o.recorded_at
            FROM audit_entry o
            WHERE e.transaction = o.transaction AND e.id <> o.id AND e.object LIKE '3_'
            """
        )
        #expect(
            try await fixture.stores.audit.verify().findings
                == [.entriesAltered(block: 3, sealed: 2, found: 2)]
        )
    }

    @Test func aRemovedBlockShows() async throws {
        let fixture = try await Self.log()
        try await Self.tamper(fixture, "DELETE FROM audit_block WHERE number = 2")
        #expect(
            try await fixture.stores.audit.verify().findings == [
                .blockMissing(2), .blockAltered(3),
            ]
        )
    }

    @Test func anAlteredBlockShows() async throws {
        let fixture = try await Self.log()
        try await Self.tamper(
            fixture,
            "UPDATE audit_block SET sealed_at = sealed_at - interval '1 day' WHERE number = 1"
        )
        #expect(try await fixture.stores.audit.verify().findings == [.blockAltered(1)])
    }

    @Test func aCutEndShows() async throws {
        let fixture = try await Self.log()
        let end = try await fixture.stores.audit.verify().end
        try await Self.tamper(
            fixture,
            "DELETE FROM audit_block WHERE number = 3",
            "DELETE FROM audit_entry WHERE object LIKE '3_'"
        )
        #expect(
            try await fixture.stores.audit.verify().findings == [.endMissing(sealed: 3, found: 2)]
        )
        // Whoever also sets the end back leaves a chain without a fault, but not the one that was
        // kept elsewhere.
        try await Self.tamper(
            fixture,
            """
            UPDATE audit_chain c SET number = b.number, sha256 = b.sha256,
                before_epoch = b.before_epoch, before_transaction = b.before_transaction
            FROM audit_block b WHERE b.number = 2
            """
        )
        #expect(try await fixture.stores.audit.verify().findings.isEmpty)
        #expect(
            try await fixture.stores.audit.verify(kept: end).findings == [.otherThanKept(3)]
        )
    }

    /// The guard against mistakes, without the rights of the owner used on purpose.
    @Test(arguments: [
        "UPDATE audit_entry SET actor = 'another'", "DELETE FROM audit_entry",
        "TRUNCATE audit_entry", "UPDATE audit_block SET entry_count = 0",
        "DELETE FROM audit_block", "TRUNCATE audit_block",
    ])
    func nothingIsAlteredByMistake(statement: String) async throws {
        let fixture = try await Self.log()
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.aside.execute(Query(stringLiteral: statement))
        }
        #expect(error?.sqlState == "42501")
    }

    @Test func theChainWaitsForTransactionsThatRun() async throws {
        let fixture = try await Self.log()
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute(AuditStore.insert([Self.entry("slow")]))
        try await fixture.stores.audit.record([Self.entry("quick")])
        // The slow entry has a place before the quick one, and is not there yet.
        #expect(try await fixture.stores.audit.seal() == nil)
        _ = try await other.execute("COMMIT")
        try await Self.seal(fixture.stores)
        let report = try await fixture.stores.audit.verify()
        #expect(report.findings.isEmpty && report.entries == 8)
    }

    @Test func onlyOneInstanceSealsAtATime() async throws {
        let fixture = try await Self.log()
        try await fixture.stores.audit.record((0..<50).map { Self.entry("\($0)") })
        await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask { _ = try await fixture.stores.audit.seal() }
            }
        }
        try await Self.seal(fixture.stores)
        let report = try await fixture.stores.audit.verify()
        #expect(report.findings.isEmpty && report.entries == 56)
    }

    @Test func oldEntriesGoAndTheirDigestsStay() async throws {
        let fixture = try await Self.log()
        let audit = fixture.stores.audit
        #expect(try await audit.removeEntries(sealedBefore: .seconds(3600)) == nil)
        #expect(try await audit.removeEntries(sealedBefore: .zero) == 1)
        #expect(try await audit.removeEntries(sealedBefore: .zero) == 2)
        let report = try await audit.verify()
        #expect(report.findings.isEmpty && report.removed == 2)
        #expect(report.blocks == 3 && report.entries == 2)
        // What is put where entries were removed shows, too.
        try await Self.tamper(
            fixture,
            """
            INSERT INTO audit_entry (epoch, transaction, action, object)
            SELECT from_epoch, from_transaction, 'PUT', 'invented'
            FROM audit_block WHERE number = 2
            """
        )
        #expect(
            try await audit.verify().findings == [.entriesAltered(block: 2, sealed: 2, found: 1)]
        )
    }

    /// A dump of the log, read by a server that has had fewer transactions.
    @Test func aRestoredLogGoesOn() async throws {
        let fixture = try await Self.log()
        try await fixture.stores.audit.record([Self.entry("left over")])
        try await Self.tamper(
            fixture,
            """
            UPDATE audit_entry SET transaction = (transaction::text::numeric + 1000000)::text::xid8
            WHERE object = 'left over'
            """,
            """
            UPDATE audit_chain SET before_transaction = '1000000000'
            """,
            """
            UPDATE audit_entry SET transaction = '1000000001' WHERE object = 'left over'
            """
        )
        try await fixture.stores.audit.begin()
        // Nothing more changes at the next start.
        try await fixture.stores.audit.begin()
        try await fixture.stores.audit.record([Self.entry("new")])
        try await Self.seal(fixture.stores)
        let listed = try await fixture.stores.audit.entries(before: nil, limit: 2)
        #expect(listed.map(\.entry.object) == ["new", "left over"])
        #expect(try await fixture.count("SELECT epoch::bigint AS count FROM audit_chain") == 2)
        #expect(try await fixture.stores.audit.verify().entries == 8)
    }

    /// As when that server takes the place of the other one while the service runs.
    @Test(arguments: [false, true])
    func anEntryBehindARestoredChainIsSealed(isAheadAgain: Bool) async throws {
        let fixture = try await Self.log()
        let audit = fixture.stores.audit
        try await Self.tamper(
            fixture,
            "UPDATE audit_chain SET before_transaction = '1000000000'"
        )
        try await audit.record([Self.entry("new")])
        if isAheadAgain {
            try await Self.tamper(
                fixture,
                """
                UPDATE audit_chain c SET before_transaction = b.before_transaction
                FROM audit_block b WHERE b.number = 3
                """
            )
        }
        try await Self.seal(fixture.stores)
        #expect(try await audit.verify().entries == 7)
        #expect(try await audit.entries(before: nil, limit: 1).map(\.entry.object) == ["new"])
        #expect(try await fixture.count("SELECT epoch::bigint AS count FROM audit_chain") == 2)
    }

    @Test func aChangeTakesItsEntryAlong() async throws {
        let fixture = try await StoreFixture()
        let slot = AuditSlot(Self.entry("change"))
        try await slot.recording {
            // A read takes nothing along, and of two changes the first does.
            _ = try await fixture.session()
            #expect(!slot.isRecorded)
            try await fixture.putSession("one")
            #expect(slot.isRecorded)
            try await fixture.putSession("two")
        }
        let entries = try await fixture.count(
            """
            SELECT count(*) AS count FROM audit_entry e
            JOIN session s ON s.xmin::text = e.transaction::text AND s.identifier = 'one'
            """
        )
        #expect(entries == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM audit_entry") == 1)
    }

    @Test func aChangeThatFailsLeavesItsEntryToTheNext() async throws {
        let fixture = try await StoreFixture()
        let slot = AuditSlot(Self.entry("change"))
        try await slot.recording {
            await #expect(throws: StoreError.self) {
                try await fixture.stores.database.run("INSERT INTO tenant (id) VALUES (NULL)")
            }
            #expect(!slot.isRecorded)
            try await fixture.putSession("one")
        }
        #expect(slot.isRecorded)
        #expect(try await fixture.count("SELECT count(*) AS count FROM audit_entry") == 1)
    }

    /// Of requests that share a commit, each has its entry.
    @Test func eachRequestOfAGroupHasItsEntry() async throws {
        let fixture = try await StoreFixture()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<40 {
                group.addTask {
                    let slot = AuditSlot(Self.entry("\(index)"))
                    _ = try await slot.recording { try await fixture.submit() }
                    #expect(slot.isRecorded)
                }
            }
            try await group.waitForAll()
        }
        let counts: Query = """
            SELECT count(*) AS count FROM audit_entry e
            JOIN (SELECT DISTINCT t.xmin::text AS transaction FROM task t) t
                ON t.transaction = e.transaction::text
            """
        #expect(try await fixture.count(counts) == 40)
        #expect(
            try await fixture.count("SELECT count(DISTINCT object) AS count FROM audit_entry")
                == 40
        )
    }

    @Test(arguments: [
        ("INSERT INTO a VALUES (1)", true), ("WITH x AS (DELETE FROM a) SELECT 1", true),
        ("UPDATE a SET b = 1", true), ("SELECT 1 FROM a FOR UPDATE SKIP LOCKED", false),
        ("SELECT 1 FROM a FOR NO KEY UPDATE", false), ("SELECT 1", false),
        ("WITH l AS (SELECT 1 FROM a FOR UPDATE ), u AS (UPDATE a SET b = 1) SELECT 1", true),
    ])
    func theTextTellsWhetherAStatementChangesRows(sql: String, changes: Bool) {
        #expect(Query(stringLiteral: sql).changesRows == changes)
    }

    /// Some requests of a group may be refused: no entry says that they changed anything.
    @Test func aRefusedSubmissionHasNoEntryOfAChange() async throws {
        let fixture = try await StoreFixture()
        func batch(_ session: String, _ slot: AuditSlot) async throws -> SessionBatch {
            let key = SessionKey(tenant: fixture.tenant, client: .default, identifier: session)
            return try await slot.recording {
                let request = SubmissionRequest(
                    submissions: StoreFixture.submissions(2),
                    session: key,
                    idempotency: nil,
                    lease: nil
                )
                return SessionBatch(session: key, requests: [request])
            }
        }
        let stored = AuditSlot(Self.entry("stored"))
        let refused = AuditSlot(Self.entry("refused"))
        let batches = [
            try await batch("nowhere", refused),
            try await batch(StoreFixture.identifier, stored),
        ]
        let generations = try await fixture.stores.submissions.submit(batches, whenLocked: .skip)
        #expect(Set(generations.keys) == [1])
        #expect(stored.isRecorded)
        #expect(!refused.isRecorded)
        let alone = AuditSlot(Self.entry("alone"))
        _ = try await alone.recording {
            try await fixture.stores.submissions.submit(
                StoreFixture.submissions(200),
                tenant: fixture.tenant,
                sessionIdentifier: "nowhere"
            )
        }
        #expect(!alone.isRecorded)
        let rows = try await fixture.aside.execute("SELECT object FROM audit_entry")
        #expect(try rows.map { try $0.decode("object", as: String.self) } == ["stored"])
    }

    /// A verb that finds nothing to change has written that nowhere.
    @Test func aChangeOfNothingHasNoEntry() async throws {
        let fixture = try await StoreFixture()
        let slot = AuditSlot(Self.entry("nobody"))
        let isKnown = try await slot.recording {
            try await fixture.stores.keys.revokeAPIKey(id: "nobody")
        }
        #expect(!isKnown)
        #expect(!slot.isRecorded)
        #expect(try await fixture.count("SELECT count(*) AS count FROM audit_entry") == 0)
    }
}
