import Postgres

/// What a claim of a delivery is still good for.
package enum ClaimStanding: Sendable {
    /// It lasts, and its subscription is as it was claimed.
    case current
    /// It lasts, but its subscription has been changed or paused since, or the client was
    /// force-quit: it is to be given back, and the next claim does what is right by then.
    case outdated
    /// It has ended, and its holder must stop.
    case stale
}

extension ClaimStanding {
    /// Reads the row of a claim that lasts, if there is one.
    init(_ rows: StoredRows) throws(StoreError) {
        guard let row = rows.first else {
            self = .stale
            return
        }
        self = try row.decode("is_current") ? .current : .outdated
    }
}
