/// The time for which tasks that were taken belong to nobody else.
package enum LeaseTime: Sendable {
    case seconds(Int64)
    /// The tasks are never given out again.
    case forGood

    package static let secondsDefault: Int64 = 60
    package static let secondsRange: ClosedRange<Int64> = 1...86_400
}
