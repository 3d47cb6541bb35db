/// How long the next `session.events_finished` of a subscription waits after the last one, so that
/// a client which is woken often is not woken ever more often.
///
/// After "Downloading Files in the Background" (Apple): the system delays the tasks of an app that
/// it had to relaunch, the longer the more often it had to.
package struct WakeUpThrottle: Sendable {
    /// After the first wake-up, after the second, and so on; the last one repeats.
    package var delays: [Duration] = [
        .seconds(60), .seconds(120), .seconds(240), .seconds(480), .seconds(960), .seconds(1920),
        .seconds(3600),
    ]
    /// After so long without a wake-up the next one counts as the first.
    package var quietPeriod: Duration = .seconds(24 * 3600)

    package init() {}

    /// Returns how long to wait after the last of `count` wake-ups; not at all before the first.
    package func delay(after count: Int) -> Duration {
        guard count > 0, let last = delays.last else { return .zero }
        return count <= delays.count ? delays[count - 1] : last
    }
}
