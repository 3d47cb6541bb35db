import Logging
import PollLoop
import TransferModel
import TransferStore

/// The part of the completer that stores groups of ends, whatever the database does.
struct EndWriter {
    let completions: CompletionStore
    let logger: Logger

    /// The pause between two tries to reach the database.
    static let retryInterval: Duration = .milliseconds(500)

    /// The outcome of storing a group.
    struct Stored<Item: Sendable>: Sendable {
        /// The tasks that were changed.
        var changed: Set<TaskID> = []
        /// The items that could not be stored because others hold what they have to change.
        var heldUp: [Item] = []
        /// The items over which the database has failed for a reason of its own.
        var failed: [Item] = []
        /// The sessions of tasks, as far as they were asked for.
        var owners: [TaskID: TaskSession] = [:]

        mutating func merge(_ other: Stored) {
            changed.formUnion(other.changed)
            heldUp += other.heldUp
            failed += other.failed
            owners.merge(other.owners) { $1 }
        }
    }

    /// Stores a group, and retries until the database has answered; each change is safe to repeat
    /// because the fence lets it happen once.
    ///
    /// A group that the database refuses is halved until the refused item is alone, so that the
    /// others do not suffer. If a group waited too long for a lock, the items whose sessions are
    /// free are stored once more; the rest is left to the caller. So is a group over which the
    /// database has failed for a reason of its own: that says nothing of the items.
    ///
    /// - Returns: nil when the service stops first.
    func stored<Item: Sendable>(
        _ step: String,
        _ items: [Item],
        task: @Sendable (Item) -> TaskID,
        _ change: @Sendable ([Item]) async throws(StoreError) -> Set<TaskID>
    ) async -> Stored<Item>? {
        var stored = Stored<Item>()
        var items = items
        var tries = 0
        var isContended = false
        while !items.isEmpty {
            do throws(StoreError) {
                stored.changed.formUnion(try await change(items))
                return stored
            } catch  where error.isContended {
                logger.notice(
                    "results wait for a lock",
                    metadata: ["step": "\(step)", "count": "\(items.count)", "error": "\(error)"]
                )
                stored.owners = await owners(of: items.map(task))
                let owners = stored.owners
                let held = items.filter { isContended || owners[task($0)]?.isHeld ?? true }
                stored.heldUp += held
                items = items.filter { !isContended && !(owners[task($0)]?.isHeld ?? true) }
                isContended = true
                continue
            } catch  where error.isUnavailable {
                tries += 1
                if tries == 1 {
                    logger.warning(
                        "database away, keeping results",
                        metadata: ["step": "\(step)", "error": "\(error)"]
                    )
                }
            } catch  where error.isInternal {
                logger.error(
                    "the database fails, keeping results",
                    metadata: [
                        "step": "\(step)", "count": "\(items.count)",
                        "error": "\(error.debugDescription)",
                    ]
                )
                stored.failed += items
                return stored
            } catch {
                guard items.count > 1 else {
                    logger.error(
                        "result not stored",
                        metadata: ["step": "\(step)", "error": "\(error)"]
                    )
                    return stored
                }
                let half = items.count / 2
                for part in [items[..<half], items[half...]] {
                    guard let other = await self.stored(step, Array(part), task: task, change)
                    else { return nil }
                    stored.merge(other)
                }
                return stored
            }
            do {
                try await Task.sleep(for: Self.retryInterval.jittered)
            } catch {
                return nil
            }
        }
        return stored
    }

    /// Returns the sessions of tasks; none when the database does not answer.
    private func owners(of tasks: [TaskID]) async -> [TaskID: TaskSession] {
        do throws(StoreError) {
            return try await completions.sessions(of: tasks)
        } catch {
            logger.debug("sessions not found", metadata: ["error": "\(error)"])
            return [:]
        }
    }

    /// Returns groups in which no task occurs twice, for the store answers with tasks: an attempt
    /// that was taken away and the one after it may end together, and only one of them counts.
    func distinct<Item>(_ items: [Item], by task: (Item) -> TaskID) -> [[Item]] {
        var groups: [[Item]] = []
        var counts: [TaskID: Int] = [:]
        for item in items {
            let number = counts[task(item), default: 0]
            counts[task(item)] = number + 1
            if number == groups.count { groups.append([]) }
            groups[number].append(item)
        }
        return groups
    }
}
