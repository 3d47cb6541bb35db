import Foundation
import Postgres
import TransferModel

/// Work that is stored for owners of whom there may be any number: sessions, clients, answers.
enum WaitingWork {
    /// The number of owners of a tenant that one search finds at most.
    static let ownersMax = 100
    /// The time after which the owners of a tenant are tried again for whom nothing could be done.
    private static let rest: Duration = .seconds(3)

    /// Does a part of the work of each owner, and meanwhile more for tenants that have few.
    ///
    /// Tenants take turns, a part each: however many owners a tenant has, the others wait only for
    /// one part of its work. Who comes to the end of its owners begins again, until all that had
    /// work at the beginning of the call have come to theirs.
    ///
    /// An owner whose part fails is left for later, and does not delay the rest.
    ///
    /// - Parameters:
    ///   - batchMax: The number of owners that one search finds at most.
    ///   - nextTenant: Returns the first tenant with work after one of them, or the first of all.
    ///   - find: Returns the owners of a tenant after one of them, or its first, in order.
    ///   - part: Does a part of an owner's work, and returns how much that was.
    /// - Returns: how much was done for all; there may be more unless it is zero.
    /// - Throws: the first failure, if nothing was done.
    static func advance<Owner>(
        inBatchesOf batchMax: Int,
        nextTenant: (_ last: TenantID?) async throws(StoreError) -> TenantID?,
        _ find: (_ tenant: TenantID, _ last: Owner?) async throws(StoreError) -> [Owner],
        part: (Owner) async throws(StoreError) -> Int
    ) async throws(StoreError) -> Int {
        var done = 0
        var failure: StoreError?
        var passes: [TenantID: Pass<Owner>] = [:]
        var isFirstRound = true
        repeat {
            // Those without work are forgotten, and begin with their first owner when they return.
            var met: [TenantID: Pass<Owner>] = [:]
            var last: TenantID?
            while let tenant = try await nextTenant(last) {
                last = tenant
                var pass = passes[tenant] ?? Pass(isAwaited: isFirstRound)
                if pass.isOver { pass = Pass(isAwaited: false) }
                if pass.needsMore {
                    let owners = try await find(tenant, pass.last)
                    pass.add(owners, of: batchMax)
                }
                if let owner = pass.next() {
                    do throws(StoreError) {
                        let count = try await part(owner)
                        done += count
                        if count > 0 { pass.hasDone = true }
                    } catch {
                        failure = failure ?? error
                    }
                }
                met[tenant] = pass
            }
            passes = met
            isFirstRound = false
        } while passes.values.contains(where: \.isOpen)
        if let failure, done == 0 { throw failure }
        return done
    }

    /// A way through the owners of a tenant.
    private struct Pass<Owner> {
        /// Whether the call waits for its end.
        let isAwaited: Bool
        /// Whether anything was done for an owner.
        var hasDone = false
        /// The last owner that was found.
        private(set) var last: Owner?
        /// Those that were found and whose parts are still to be done.
        private var found: ArraySlice<Owner> = []
        /// Whether nobody is behind those that were found.
        private var isAtEnd = false
        /// When the next pass may begin if nothing is done in this one.
        private let restEnd = ContinuousClock.now + WaitingWork.rest

        init(isAwaited: Bool) { self.isAwaited = isAwaited }

        var needsMore: Bool { found.isEmpty && !isAtEnd }

        var isOpen: Bool { isAwaited && !(found.isEmpty && isAtEnd) }

        /// Whether it is at its end and the next one may begin.
        var isOver: Bool { found.isEmpty && isAtEnd && (hasDone || restEnd <= .now) }

        mutating func add(_ owners: [Owner], of batchMax: Int) {
            found = owners[...]
            last = owners.last ?? last
            isAtEnd = owners.count < batchMax
        }

        mutating func next() -> Owner? { found.popFirst() }
    }
}

extension WaitingWork {
    /// Does a part of the work of each row of a table with a `tenant_id` and an index on it and the
    /// key.
    ///
    /// - Parameters:
    ///   - table: The name of the table.
    ///   - key: The name of the column that names the owner.
    ///   - database: The database.
    ///   - part: Does a part of an owner's work, and returns how much that was.
    /// - Returns: how much was done for all; there may be more unless it is zero.
    /// - Throws: the first failure, if nothing was done.
    static func advance(
        _ table: Query,
        by key: Query,
        in database: Database,
        part: (UUID) async throws(StoreError) -> Int
    ) async throws(StoreError) -> Int {
        try await advance(
            inBatchesOf: ownersMax,
            nextTenant: { last throws(StoreError) in
                try await database.run(selectTenant(of: table, by: key, after: last))
                    .first?.tenant("tenant_id")
            },
            { (tenant: TenantID, last: UUID?) throws(StoreError) in
                let rows = try await database.run(
                    """
                    SELECT w.\(key) AS owner FROM \(table) w
                    WHERE \(isOwner(of: tenant, by: key, after: last))
                    ORDER BY w.tenant_id, w.\(key) LIMIT \(ownersMax)
                    """
                )
                return try rows.map { row throws(StoreError) in try row.decode("owner") }
            },
            part: part
        )
    }

    /// Selects the first tenant after one of those with rows `w` that meet a condition.
    ///
    /// The order is that of the index which also gives the owners of a tenant.
    static func selectTenant(
        of table: Query,
        by key: Query,
        after last: TenantID?,
        where condition: Query = "true"
    ) -> Query {
        """
        SELECT w.tenant_id FROM \(table) w
        WHERE \(condition) AND w.tenant_id > \(last?.uuid ?? UUID.zero)
        ORDER BY w.tenant_id, w.\(key) LIMIT 1
        """
    }

    /// Whether the owner of a row `w` is one of a tenant, after `last`: a range that no other index
    /// serves.
    static func isOwner(of tenant: TenantID, by key: Query, after last: UUID?) -> Query {
        """
        ((w.tenant_id, w.\(key)) > (\(tenant.uuid), \(last ?? UUID.zero))
            AND w.tenant_id <= \(tenant.uuid))
        """
    }
}
