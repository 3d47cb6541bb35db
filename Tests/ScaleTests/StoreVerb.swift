import TransferStore
import TransferTestSupport

/// A verb of the store as it is measured in a full database.
struct StoreVerb: Sendable {
    /// The verb's name, and of which case it is in parentheses.
    let name: String
    /// What it may read beside what it returns.
    let pages: Int64
    /// Does it, and tells how many rows it returned or moved.
    let perform: @Sendable (Stores, ScaleWorld) async throws -> Int

    /// Of each row that is returned or moved.
    static let pagesOfItem: Int64 = 40

    init(
        _ name: String,
        pages: Int64 = 400,
        _ perform: @escaping @Sendable (Stores, ScaleWorld) async throws -> Int
    ) {
        self.name = name
        self.pages = pages
        self.perform = perform
    }

    /// The name of the function.
    var function: Substring { name.prefix { $0 != "(" } }

    /// Every verb of the store, but for ``exceptions``.
    static let all =
        taskReads + reads + taskChanges + work + sessionChanges + deliveries + chores

    /// Package functions of the store that are not measured, and why.
    static let exceptions = [
        "makePartition": "defines a table, and reads none",
        "dropPartition": "defines a table, and reads none",
        "serverVersion": "reads nothing that is stored",
        "isAnyWorkerAlive": "a part of `transferd verify`, which looks at everything",
        "markResults": "a part of `transferd verify`",
        "results": "a part of `transferd verify`",
        "unequalCounts": "a part of `transferd verify`",
        "unequalTenantCounts": "a part of `transferd verify`",
    ]

    /// What lists are asked for.
    static let page = 100
    /// Where there is nothing of a state, five thousand tasks are looked at.
    static let pagesOfLook: Int64 = 60_000
    /// What is running in the whole fleet is looked through.
    static let pagesOfFleet: Int64 = 3000
}
