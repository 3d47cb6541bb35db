import TransferStore
import TransferTestSupport

/// A verb of the store, as measured in a full database.
struct StoreVerb: Sendable {
    /// The verb's name, followed by the case in parentheses.
    let name: String
    /// The number of pages that it may read beside the returned rows.
    let pages: Int64
    /// Performs the verb, and returns how many rows it returned or moved.
    let perform: @Sendable (Stores, ScaleWorld) async throws -> Int

    /// The number of pages allowed for each row that is returned or moved.
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

    /// Every verb of the store, except ``exceptions``.
    static let all =
        taskReads + reads + taskChanges + work + sessionChanges + deliveries + chores
        + bulkOperations + background + backgroundTasks

    /// The package functions of the store that are not measured, and the reasons.
    static let exceptions = [
        "makePartition": "defines a table, and reads none",
        "dropPartition": "defines a table, and reads none",
        "announce": "reads and changes a table with a row for each instance",
        "begin": "changes one row of a table of one, at the start",
        "entries": "a page by the primary key, of a bounded length",
        "seal": "reads the entries of one block, which are one range of the primary key",
        "removeEntries": "removes the entries of one block",
        "verify": "a part of `transferd audit verify`, which looks at everything",
        "recentAPIKeys": "reads the keys of all tenants, once at the start of an instance",
        "serverVersion": "reads nothing that is stored",
        "currentTime": "reads nothing that is stored",
        "lossySettings": "reads nothing that is stored",
        "use": "reads a table of a few rows",
        "renewUse": "changes one row of a table of a few",
        "isOtherKeyInUse": "reads a table of a few rows",
        "rewrap": "a part of `transferd secrets rewrap`, which looks at everything",
        "isAnyWorkerAlive": "a part of `transferd verify`, which looks at everything",
        "markResults": "a part of `transferd verify`",
        "results": "a part of `transferd verify`",
        "unequalCounts": "a part of `transferd verify`",
        "unequalTenantCounts": "a part of `transferd verify`",
        "tenantHoldings": "a part of `transferd tenants remove`, which counts what there is",
        "unequalTotals": "a part of `transferd verify`",
    ]

    /// The page size requested of lists.
    static let page = 100
    /// The number of pages when no task has the requested state: five thousand tasks are examined.
    static let pagesOfLook: Int64 = 60_000
    /// The number of pages when everything that runs in the whole fleet is examined.
    static let pagesOfFleet: Int64 = 3000
}
