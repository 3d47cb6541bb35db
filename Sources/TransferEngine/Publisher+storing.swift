import Logging
import TransferModel
import TransferStore

extension Publisher {
    /// Between two tries to reach the database.
    static let retryInterval: Duration = .milliseconds(500)

    /// Stores a group, and repeats that until the database has answered; each change is safe to
    /// repeat, because the fence lets it happen once.
    ///
    /// A group that the database refuses is halved until what it refuses is alone: the others do
    /// not suffer for it.
    ///
    /// - Returns: the tasks that were changed; nil when the service stops first.
    nonisolated func stored<Item: Sendable>(
        _ step: String,
        _ items: [Item],
        _ change: @Sendable ([Item]) async throws(StoreError) -> Set<TaskID>
    ) async -> Set<TaskID>? {
        var tries = 0
        while true {
            do throws(StoreError) {
                return try await change(items)
            } catch .unavailable(let error) {
                tries += 1
                if tries == 1 {
                    logger.warning(
                        "database away, keeping results",
                        metadata: ["step": "\(step)", "error": "\(error)"]
                    )
                }
            } catch {
                guard items.count > 1 else {
                    logger.error(
                        "result not stored",
                        metadata: ["step": "\(step)", "error": "\(error)"]
                    )
                    return []
                }
                let half = items.count / 2
                guard let first = await stored(step, Array(items[..<half]), change),
                    let second = await stored(step, Array(items[half...]), change)
                else { return nil }
                return first.union(second)
            }
            do {
                try await Task.sleep(for: Self.retryInterval.jittered)
            } catch {
                return nil
            }
        }
    }

    /// Groups in none of which a task is twice, for the store answers with tasks: an attempt that was
    /// taken away and the one after it may end together, and only one of them counts.
    nonisolated func distinct<Item>(_ items: [Item], by task: (Item) -> TaskID) -> [[Item]] {
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
