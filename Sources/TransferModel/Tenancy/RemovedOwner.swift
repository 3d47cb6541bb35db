/// What is removed with everything that it owns.
package enum RemovedOwner: Equatable, Sendable {
    /// A tenant with all its clients.
    case tenant(TenantID)
    /// One client of a tenant; `log` names the log of its own events, and tells it from a later
    /// client of the same name.
    case client(ClientID, log: SessionID, of: TenantID)

    /// The tenant that is removed, or whose client is.
    package var tenant: TenantID {
        switch self {
        case .tenant(let tenant), .client(_, log: _, of: let tenant): tenant
        }
    }
}
