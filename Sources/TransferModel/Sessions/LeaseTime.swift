/// How long tasks that were taken are nobody else's.
package enum LeaseTime: Sendable {
    case seconds(Int64)
    /// They are not given out again.
    case forGood

    package static let secondsDefault: Int64 = 60
    package static let secondsRange: ClosedRange<Int64> = 1...86_400
}
