/// The rules by which a subscription to which nothing gets through is spared and disabled.
package struct DeliveryHealth: Sendable {
    /// The failures in a row, over all its sessions, after which only one message at a time probes
    /// whether the receiver is back.
    package var failuresMax = 10
    /// The pause after that many failures, after one more, and so on; the last one repeats.
    package var pauses: [Duration] = [
        .seconds(30), .seconds(60), .seconds(120), .seconds(240), .seconds(480), .seconds(600),
    ]
    /// The time for which the one probing message holds the others back.
    package var probeTime: Duration = .seconds(30)
    /// The pause for a receiver that answers 429, 502, 503 or 504 without `Retry-After`.
    package var throttleDefault: Duration = .seconds(5)
    /// The longest pause that such a receiver can ask for.
    package var throttleMax: Duration = .seconds(3600)
    /// The time without a success after which a subscription is disabled.
    ///
    /// Time decides, so that a burst of messages during a short outage never disables it.
    package var disabledAfter: Duration = .seconds(5 * 24 * 3600)

    package init() {}

    /// The statuses by which a receiver says that it has too much to do.
    package static let throttlingStatuses: Set<Int> = [429, 502, 503, 504]

    /// Returns how long nothing is sent to a receiver that gave such an answer.
    ///
    /// - Parameters:
    ///   - status: of the answer.
    ///   - retryAfter: what the answer asked for, if it did.
    /// - Returns: nil for any other answer.
    package func throttle(status: Int?, retryAfter: Duration?) -> Duration? {
        guard let status, Self.throttlingStatuses.contains(status) else { return nil }
        return min(retryAfter ?? throttleDefault, throttleMax)
    }
}
