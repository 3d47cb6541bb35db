/// Whether this instance hears at once what others do.
package enum SignalStatus: String, CaseIterable, Sendable {
    case heard = "pass"
    /// The connection is away; polls find everything.
    case away = "fail"
    /// Its operator wants polls alone.
    case off
}
