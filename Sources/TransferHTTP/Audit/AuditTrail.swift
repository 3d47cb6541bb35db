package import Logging
import ServiceLifecycle
import Synchronization
import TransferModel
package import TransferStore

/// The service that records calls which no change takes along: refused ones, and those that changed
/// nothing.
///
/// It writes what waits in one transaction, so that a flood of them costs the database little. Of
/// refusals it records as many as the log does, and how many others there were.
package final class AuditTrail: Service {
    /// The maximum number of entries that wait; others are counted.
    static let waitingMax = 2000
    /// The maximum number of entries in one transaction.
    static let batchMax = 500
    /// The pause after a failure of the database.
    static let retryPause: Duration = .seconds(1)

    private struct State {
        var waiting: [AuditEntry] = []
        var unwritten = 0
        var budget = RefusalBudget()
    }

    private let state = Mutex(State())
    private let store: AuditStore
    private let logger: Logger
    private let (signals, signal) = AsyncStream<Void>.makeStream(
        bufferingPolicy: .bufferingNewest(1)
    )

    package init(_ store: AuditStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Adds an entry to be recorded soon.
    func add(_ entry: AuditEntry) {
        state.withLock { state in
            guard state.waiting.count < Self.waitingMax else { return state.unwritten += 1 }
            state.waiting.append(entry)
        }
        signal.yield()
    }

    /// Adds the entry of a refused call, unless there were too many in the last seconds.
    func add(refusal entry: AuditEntry) {
        let isWritten = state.withLock { state in
            guard let unwritten = state.budget.take(at: .now) else { return false }
            state.unwritten += unwritten
            return true
        }
        if isWritten { add(entry) }
    }

    /// Records until the group shuts down gracefully, and then what still waits.
    package func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() {
            while await !flush() {
                do {
                    try await Task.sleep(for: Self.retryPause)
                } catch {
                    // The service is ending without its database.
                    return
                }
            }
        }
        _ = await flush()
    }

    /// Records what waits.
    ///
    /// - Returns: false if the database failed; everything still waits then.
    private func flush() async -> Bool {
        while true {
            let (batch, unwritten) = state.withLock {
                ($0.waiting.prefix(Self.batchMax), $0.unwritten)
            }
            guard !batch.isEmpty || unwritten > 0 else { return true }
            var entries = Array(batch)
            if unwritten > 0 { entries.append(Self.summary(of: unwritten)) }
            do throws(StoreError) {
                try await store.record(entries)
            } catch .defect(let error) where entries.count == 1 {
                // It would never be stored, nor anything behind it.
                logger.error("audit entry lost", metadata: ["error": "\(error)"])
            } catch .defect {
                guard await flushEach(batch) else { return false }
                continue
            } catch {
                logger.warning("audit entries wait", metadata: ["error": "\(error)"])
                return false
            }
            state.withLock { state in
                state.waiting.removeFirst(batch.count)
                state.unwritten -= unwritten
            }
        }
    }

    /// Records the first entries that wait one by one, without those that the database refuses.
    ///
    /// - Returns: false if the database failed; the rest still waits then.
    private func flushEach(_ entries: ArraySlice<AuditEntry>) async -> Bool {
        for entry in entries {
            do throws(StoreError) {
                try await store.record([entry])
            } catch .defect(let error) {
                logger.error(
                    "audit entry lost",
                    metadata: [
                        "error": "\(error)", "request_id": "\(entry.requestID?.text ?? "-")",
                    ]
                )
            } catch {
                logger.warning("audit entries wait", metadata: ["error": "\(error)"])
                return false
            }
            state.withLock { _ = $0.waiting.removeFirst() }
        }
        return true
    }

    private static func summary(of count: Int) -> AuditEntry {
        AuditEntry(action: "not recorded", object: "\(count) calls")
    }
}
