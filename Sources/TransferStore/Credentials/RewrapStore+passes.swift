import Postgres
import TransferSecrets

extension RewrapStore {
    /// What has become of everything that is sealed.
    package struct Outcome: Sendable {
        /// The rows of each part that were sealed with the key that seals now.
        package fileprivate(set) var renewed: [Part: Int] = [:]
        /// The rows that do not open, because their key is missing or they were changed.
        package fileprivate(set) var unreadable = 0
        /// The rows that the last pass still found sealed with an older key.
        package fileprivate(set) var old = 0
        /// Whether running instances seal with another key, which is not forgotten then.
        package fileprivate(set) var isOtherInUse = false
    }

    private static let passesMax = 5
    /// The time for which an instance counts as one that seals with the key it has named last;
    /// several of its messages.
    private static let useAgeMax: Duration = .seconds(15)

    /// Seals everything with the key that seals now, and forgets the older keys once a whole pass
    /// has found nothing that needs them.
    ///
    /// Another pass finds the rows that somebody changed between the look at them and their update,
    /// and those that an instance has sealed with an older key meanwhile.
    ///
    /// Nothing is done while a running instance seals with another key: what it seals afterwards
    /// would be lost with that key, and it could not open what is sealed here.
    package func rewrap(pagesOf limit: Int) async throws(StoreError) -> Outcome {
        var outcome = Outcome()
        outcome.isOtherInUse = try await isOtherKeyInUse()
        guard !outcome.isOtherInUse else { return outcome }
        try await recordSealingKey()
        for _ in 0..<Self.passesMax {
            outcome.unreadable = 0
            outcome.old = 0
            for part in Part.allCases { try await rewrap(part, limit, &outcome) }
            if outcome.old == 0 { break }
        }
        if outcome.old == 0, outcome.unreadable == 0 {
            try await forgetOlderKeys()
            outcome.isOtherInUse = try await isOtherKeyInUse()
        }
        return outcome
    }

    /// Whether an instance that runs, or ran a moment ago, seals with another key.
    package func isOtherKeyInUse() async throws(StoreError) -> Bool {
        guard let box = database.settings.secrets else { return false }
        let rows = try await database.run(
            """
            SELECT name FROM secrets_key
            WHERE name <> \(box.sealingKeyName) AND \(Self.isInUse) LIMIT 1
            """
        )
        return !rows.isEmpty
    }

    private static let isInUse: Query = """
        (used_at > clock_timestamp() - \(useAgeMax.milliseconds) * interval '1 ms')
        """

    private func rewrap(
        _ part: Part,
        _ limit: Int,
        _ outcome: inout Outcome
    ) async throws(StoreError) {
        var cursor: Cursor?
        repeat {
            let page = try await rewrap(part, after: cursor, limit: limit)
            outcome.renewed[part, default: 0] += page.renewed
            outcome.unreadable += page.unreadable
            outcome.old += page.renewed + page.missed
            cursor = page.next
        } while cursor != nil
    }

    /// Records the key that seals, before anything is sealed with it here: however far the passes
    /// come, no instance starts without it.
    private func recordSealingKey() async throws(StoreError) {
        guard let box = database.settings.secrets else { return }
        _ = try await database.run(
            """
            INSERT INTO secrets_key (name, used_at) VALUES (\(box.sealingKeyName), '-infinity')
            ON CONFLICT (name) DO NOTHING
            """
        )
    }

    private func forgetOlderKeys() async throws(StoreError) {
        guard let box = database.settings.secrets else { return }
        _ = try await database.run(
            "DELETE FROM secrets_key WHERE name <> \(box.sealingKeyName) AND NOT \(Self.isInUse)"
        )
    }
}
