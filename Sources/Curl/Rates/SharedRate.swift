import Synchronization

/// A rate that several transfers keep together, whichever loops they run on.
///
/// Every body byte counts against it, received or sent, including those of transfers that have
/// ended: a hundred small bodies one after another are no faster than one large one.
package final class SharedRate: Sendable {
    private struct State {
        var pacer: Pacer
        var isHeld: Bool
    }

    /// The interval at which a transfer checks a rate of zero again, if nobody reports a change.
    private static let holdInterval: Duration = .seconds(60)

    private let state: Mutex<State>

    /// - Parameter rate: bytes per second; 0 lets nothing pass.
    package init(_ rate: Int64) {
        precondition(rate >= 0, "a rate must not be negative")
        state = Mutex(State(pacer: Pacer(rate: max(1, rate), at: .now), isHeld: rate == 0))
    }

    /// Changes the rate, in bytes per second; the debt stays the same in bytes.
    ///
    /// Paused transfers notice the change when their pause is over, or at once with
    /// ``CurlTransfer/share(_:)``.
    package func limit(to rate: Int64) {
        precondition(rate >= 0, "a rate must not be negative")
        state.withLock { state in
            state.pacer.limit(to: max(1, rate), at: .now)
            state.isHeld = rate == 0
        }
    }

    /// Whether no debt is left.
    package var isSettled: Bool {
        state.withLock { $0.pacer.pauseEnd(at: .now, isPaused: true) == nil }
    }

    func move(_ count: Int64, at now: ContinuousClock.Instant) {
        state.withLock { $0.pacer.move(count, at: now) }
    }

    /// Returns the same as ``Pacer/pauseEnd(at:isPaused:)``.
    func pauseEnd(
        at now: ContinuousClock.Instant,
        isPaused: Bool
    ) -> ContinuousClock.Instant? {
        state.withLock { state in
            state.isHeld
                ? now + Self.holdInterval : state.pacer.pauseEnd(at: now, isPaused: isPaused)
        }
    }
}
