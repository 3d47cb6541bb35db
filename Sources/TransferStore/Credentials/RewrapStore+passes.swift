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
    }

    private static let passesMax = 5

    /// Seals everything with the key that seals now, and forgets the older keys once a whole pass
    /// has found nothing that needs them.
    ///
    /// Another pass finds the rows that somebody changed between the look at them and their update,
    /// and those that an instance has sealed with an older key meanwhile.
    package func rewrap(pagesOf limit: Int) async throws(StoreError) -> Outcome {
        var outcome = Outcome()
        for _ in 0..<Self.passesMax {
            outcome.unreadable = 0
            outcome.old = 0
            for part in Part.allCases { try await rewrap(part, limit, &outcome) }
            if outcome.old == 0 { break }
        }
        if outcome.old == 0, outcome.unreadable == 0 { try await forgetOlderKeys() }
        return outcome
    }

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

    private func forgetOlderKeys() async throws(StoreError) {
        guard let box = database.settings.secrets else { return }
        _ = try await database.run(
            "DELETE FROM secrets_key WHERE name <> \(box.sealingKeyName)"
        )
    }
}
