package import Logging
package import TransferContainer
package import TransferModel
package import TransferStore

/// A comparison of what the database says with its own rows and with the files on the disk.
///
/// It reads page by page, so that it needs as little memory for a million tasks as for one, and can
/// run beside a running service.
package struct Inspection: Sendable {
    /// A discrepancy that the inspection has found.
    package enum Finding: Sendable {
        /// The file of a completed download is missing, or its length has changed.
        case contentGone(StoredResult)
        /// The file of a download that was recorded as gone is there again.
        case contentFound(StoredResult)
        /// A file that no row names, with its path in its tenant's container.
        case fileOfNobody(TenantID, path: String)
        /// A stored count that differs from the rows it counts.
        case unequalCount(CountDifference)
    }

    /// The counts of what was inspected, found and repaired.
    package struct Summary: Sendable {
        /// The number of results inspected.
        package fileprivate(set) var results = 0
        /// The number of discrepancies found.
        package fileprivate(set) var found = 0
        /// The number of discrepancies repaired.
        package fileprivate(set) var repaired = 0
    }

    /// The number of rows read at once.
    private static let pageMax = 1000
    /// The number of sessions whose tasks are counted by one statement.
    private static let sessionsMax = 100

    private let stores: EngineStores
    private let files: ContainerSweeper

    /// - Throws: An error when there is no thread for the files.
    package init(stores: EngineStores, container: Container, logger: Logger) throws {
        self.stores = stores
        files = try ContainerSweeper(container, logger: logger)
    }

    /// Inspects everything once, and repairs what it can if it is to.
    ///
    /// - Parameters:
    ///   - repairs: whether anything may be changed.
    ///   - report: receives each finding.
    /// - Returns: the counts of what was inspected, found and repaired.
    /// - Throws: `StoreError` or `StorageError` when it could not inspect something.
    package func run(
        repairs: Bool,
        _ report: @Sendable (Finding) throws -> Void
    ) async throws -> Summary {
        var summary = Summary()
        try await inspectCounts(repairs: repairs, &summary, report)
        try await inspectResults(repairs: repairs, &summary, report)
        try await inspectFiles(repairs: repairs, &summary, report)
        return summary
    }

    private func inspectCounts(
        repairs: Bool,
        _ summary: inout Summary,
        _ report: (Finding) throws -> Void
    ) async throws {
        var differences: [CountDifference]
        var position: SessionID?
        repeat {
            let page = try await stores.verification.unequalCounts(
                after: position,
                limit: Self.sessionsMax,
                repairs: repairs
            )
            position = page.position
            differences = page.differences
            if position == nil {
                // After the last session, whose counts are right by now if they could be repaired.
                differences += try await stores.verification.unequalTenantCounts(
                    repairs: repairs
                )
                differences += try await stores.verification.unequalTotals(repairs: repairs)
            }
            for difference in differences {
                summary.found += 1
                if repairs, difference.isRepairable { summary.repaired += 1 }
                try report(.unequalCount(difference))
            }
        } while position != nil
    }

    private func inspectResults(
        repairs: Bool,
        _ summary: inout Summary,
        _ report: (Finding) throws -> Void
    ) async throws {
        var position: TaskID?
        while true {
            let page = try await stores.verification.results(after: position, limit: Self.pageMax)
            guard let last = page.last else { return }
            position = last.task
            summary.results += page.count
            let sizes = try await files.sizes(of: page.map(\.place))
            var gone: [TaskID] = []
            var found: [TaskID] = []
            for (result, size) in zip(page, sizes) {
                // A later task may have replaced a file with a name that clients choose.
                let isThere = result.isOwnFile ? size == result.bytes : size != nil
                guard isThere == result.isKnownGone else { continue }
                if isThere { found.append(result.task) } else { gone.append(result.task) }
                summary.found += 1
                try report(isThere ? .contentFound(result) : .contentGone(result))
            }
            if repairs, !gone.isEmpty || !found.isEmpty {
                summary.repaired += try await stores.verification.markResults(
                    gone: gone,
                    found: found
                )
            }
        }
    }

    /// Inspects files by the rule of ``Pruner``; while no instance is alive nobody writes, and no
    /// file is too young.
    private func inspectFiles(
        repairs: Bool,
        _ summary: inout Summary,
        _ report: (Finding) throws -> Void
    ) async throws {
        let isAlive = try await stores.verification.isAnyWorkerAlive()
        let age = isAlive ? ContainerSweeper.ageMin : .zero
        let folders = try await files.tenants()
        for tenant in try await stores.verification.tenants(among: folders) {
            try await files.begin(tenant)
            while let batch = await files.next(of: tenant, isThorough: true, ageMin: age) {
                let places = try await batch.placesOfNobody(stores)
                for place in places {
                    let path = place.path.dropFirst(tenant.description.count + 1)
                    try report(.fileOfNobody(tenant, path: String(path)))
                }
                summary.found += places.count
                if repairs { summary.repaired += await files.remove(places) }
            }
        }
    }
}

extension StoredResult {
    fileprivate var place: Container.Place { Container.Place(path, tenant: tenant) }
}
