/// The status of the signals by which this instance learns at once of changes made by others.
package enum SignalStatus: String, CaseIterable, Sendable {
    case heard = "pass"
    /// The connection is lost; polls still find everything.
    case away = "fail"
    /// The operator has turned signals off, so that there are only polls.
    case off
}
