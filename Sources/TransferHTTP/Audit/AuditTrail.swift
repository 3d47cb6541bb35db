package import Logging
import ServiceLifecycle
import Synchronization
import TransferMetrics
import TransferModel
package import TransferStore

/// The service that records calls which no change takes along: refused ones, and those that changed
/// nothing.
///
/// It writes what waits in one transaction, so that a flood of them costs the database little. Of
/// refusals it records as many as the log does, of each tenant and of requests without a good key,
/// and how many others there were.
package final class AuditTrail: Service {
    /// The maximum number of entries that wait; others are counted.
    static let waitingMax = 2000
    /// The maximum number of entries in one transaction.
    static let batchMax = 500
    /// The pause after a failure of the database.
    static let retryPause: Duration = .seconds(1)

    private struct State {
        var waiting: [AuditEntry] = []
        /// The numbers of calls that were not recorded, by their tenant; nil for no certain one.
        var unwritten: [TenantID?: Int] = [:]
        var budgets = RefusalBudgets()

        mutating func count(unwritten count: Int, of tenant: TenantID?) {
            guard count > 0 else { return }
            let hasRoom = unwritten[tenant] != nil || unwritten.count < RefusalBudgets.countMax
            unwritten[hasRoom ? tenant : nil, default: 0] += count
        }
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
            guard state.waiting.count < Self.waitingMax else {
                return state.count(unwritten: 1, of: entry.tenant)
            }
            state.waiting.append(entry)
        }
        signal.yield()
    }

    /// Adds the entry of a refused call, unless its tenant had too many in the last seconds, or
    /// those without a good key.
    func add(refusal entry: AuditEntry) {
        let isWritten = state.withLock { state in
            guard let line = state.budgets.take(for: entry.tenant, at: .now) else { return false }
            state.count(unwritten: line.unwritten, of: line.tenant)
            return true
        }
        if isWritten { add(entry) }
    }

    /// Records until the group shuts down gracefully, and then what still waits.
    package func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Ends with the pause that is cancelled.
                while (try? await Task.sleep(for: LineBudget.period)) != nil {
                    self.endPeriods(at: .now)
                }
            }
            await recordOn()
            group.cancelAll()
        }
    }

    /// Tells of the refusals in periods that are over which were not recorded: none may follow.
    func endPeriods(at now: ContinuousClock.Instant) {
        state.withLock { state in
            for ended in state.budgets.takeEnded(at: now) {
                state.count(unwritten: ended.unwritten, of: ended.tenant)
            }
        }
        signal.yield()
    }

    private func recordOn() async {
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
        endPeriods(at: .now + LineBudget.period)
        _ = await flush()
    }

    /// Records what waits.
    ///
    /// - Returns: false if the database failed; everything still waits then.
    private func flush() async -> Bool {
        while true {
            let (batch, unwritten) = state.withLock {
                ($0.waiting.prefix(Self.batchMax), Array($0.unwritten.prefix(Self.batchMax)))
            }
            guard !batch.isEmpty || !unwritten.isEmpty else { return true }
            var entries = Array(batch)
            for (tenant, count) in unwritten { entries.append(Self.summary(of: count, tenant)) }
            do throws(StoreError) {
                try await store.record(entries)
            } catch .defect(let error) where entries.count == 1 || batch.isEmpty {
                // They would never be stored, nor anything behind them.
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
                for (tenant, count) in unwritten {
                    let rest = (state.unwritten[tenant] ?? 0) - count
                    state.unwritten[tenant] = rest > 0 ? rest : nil
                }
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

    private static func summary(of count: Int, _ tenant: TenantID?) -> AuditEntry {
        AuditEntry(tenant: tenant, action: "not recorded", object: "\(count) calls")
    }
}
