/// The time for which tasks that were taken belong to nobody else.
package enum LeaseTime: Sendable {
    case seconds(Int64)
    /// The tasks are never given out again.
    case forGood

    /// The seconds of a lease unless the client says otherwise.
    package static let secondsDefault: Int64 = 60
    /// The allowed seconds of a lease.
    package static let secondsRange: ClosedRange<Int64> = 1...86_400
}
