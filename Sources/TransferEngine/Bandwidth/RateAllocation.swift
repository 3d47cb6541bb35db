package import TransferModel

/// The division of the limits of sessions and tenants among their running transfers.
///
/// The division is max–min fair: no transfer gets more as long as one with less could have it. What
/// one transfer does not use, because of its own limit, its session's or its demand, goes to the
/// others of its tenant.
package enum RateAllocation {
    /// A running transfer.
    package struct Transfer: Sendable {
        /// The session of the transfer.
        package var session: SessionID
        /// The tenant of the transfer.
        package var tenant: TenantID
        /// Its own limit; nil for none.
        package var limit: Int64?
        /// The rate that it would use, as far as known; nil for all it can get.
        package var demand: Int64?

        package init(
            session: SessionID,
            tenant: TenantID,
            limit: Int64? = nil,
            demand: Int64? = nil
        ) {
            self.session = session
            self.tenant = tenant
            self.limit = limit
            self.demand = demand
        }
    }

    /// Returns the rate of each transfer, in the order given: bytes in a second, nil for any, 0 to
    /// wait.
    ///
    /// Demands decide who gets what is scarce. What is left is then spread regardless of demand: a
    /// transfer that wants more than before may take it at once.
    ///
    /// - Complexity: O(n log n).
    package static func rates(
        of transfers: [Transfer],
        limits: [RateOwner: Int64]
    ) -> [Int64?] {
        let groups = Groups(transfers, limits)
        let rates = groups.filled(
            transfers.map { min($0.limit ?? .max, $0.demand ?? .max) },
            limits
        )
        var left = limits
        for (owner, members) in groups.members {
            for index in members { left[owner]? -= rates[index] }
        }
        let more = groups.filled(
            transfers.indices.map { (transfers[$0].limit ?? .max) - rates[$0] },
            left
        )
        return transfers.indices.map { index in
            groups.areShared[index] ? rates[index] + more[index] : transfers[index].limit
        }
    }
}

/// The transfers that share each limit.
private struct Groups {
    private(set) var members: [RateOwner: [Int]] = [:]
    private(set) var areShared: [Bool]

    init(_ transfers: [RateAllocation.Transfer], _ limits: [RateOwner: Int64]) {
        areShared = Array(repeating: false, count: transfers.count)
        for (index, transfer) in transfers.enumerated() {
            for owner in [.session(transfer.session), .tenant(transfer.tenant)] as [RateOwner]
            where limits[owner] != nil {
                members[owner, default: []].append(index)
                areShared[index] = true
            }
        }
    }

    /// Returns `caps`, each cut by the level of its session and then by that of its tenant.
    ///
    /// A session's level cuts only what is above it, so that the tenant's cut afterwards is the
    /// same as if both were cut at once.
    func filled(_ caps: [Int64], _ limits: [RateOwner: Int64]) -> [Int64] {
        var rates = caps
        for (owner, members) in members {
            if case .session = owner { Self.fill(&rates, members, upTo: limits[owner] ?? .max) }
        }
        for (owner, members) in members {
            if case .tenant = owner { Self.fill(&rates, members, upTo: limits[owner] ?? .max) }
        }
        return rates
    }

    /// Cuts the rates of `members` at the level at which their sum is `limit`; bytes that do not
    /// divide go to the first of them.
    private static func fill(_ rates: inout [Int64], _ members: [Int], upTo limit: Int64) {
        let ascending = members.sorted { rates[$0] < rates[$1] }
        var left = limit
        for (place, index) in ascending.enumerated() {
            let sharers = Int64(ascending.count - place)
            guard rates[index] > left / sharers else {
                left -= rates[index]
                continue
            }
            // This one and all above it are cut at one level.
            let (level, rest) = left.quotientAndRemainder(dividingBy: sharers)
            let cut = Set(ascending[place...])
            var odd = rest
            for member in members where cut.contains(member) {
                rates[member] = level + (odd > 0 ? 1 : 0)
                odd -= odd > 0 ? 1 : 0
            }
            return
        }
    }
}
