/// The owner of a limit that several attempts share.
package enum RateOwner: Hashable, Sendable {
    case session(SessionID)
    case tenant(TenantID)
}
