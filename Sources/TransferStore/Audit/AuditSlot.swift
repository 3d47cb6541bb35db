import Synchronization

/// The entry of a call, which the first transaction that changes something for the call takes
/// along.
///
/// So the entry and the change are committed together, without a commit of its own, whatever verbs
/// the call uses.
package final class AuditSlot: Sendable {
    /// The slots whose entries the transactions of this task take along.
    @TaskLocal static var current: [AuditSlot] = []

    package let entry: AuditEntry
    private let isTaken = Mutex(false)

    package init(_ entry: AuditEntry) { self.entry = entry }

    /// Whether the entry has been committed.
    package var isRecorded: Bool { isTaken.withLock { $0 } }

    /// Returns the entry if no transaction has taken it yet.
    func take() -> AuditEntry? {
        isTaken.withLock { isTaken in
            guard !isTaken else { return nil }
            isTaken = true
            return entry
        }
    }

    /// Lets another transaction take the entry, because the last one changed nothing or failed.
    func giveBack() { isTaken.withLock { $0 = false } }

    /// Notes that a statement of its own has stored the entry with the change.
    func markRecorded() { isTaken.withLock { $0 = true } }

    /// Runs `body`, whose first change takes the entry along.
    package func recording<Value>(
        _ body: () async throws -> Value
    ) async throws -> Value {
        try await Self.$current.withValue([self]) { try await body() }
    }

    /// Runs `body`, whose statements store the entries themselves.
    static func withoutRecording<Value: Sendable>(
        _ body: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await $current.withValue([]) {
            do throws(StoreError) {
                return .success(try await body())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
