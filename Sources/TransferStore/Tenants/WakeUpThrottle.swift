/// The wait between a subscription's last `session.events_finished` and the next, so that a client
/// which is woken often is not woken ever more often.
///
/// This follows "Downloading Files in the Background" (Apple): the system delays the tasks of an
/// app that it had to relaunch, and the delay grows with each relaunch.
package struct WakeUpThrottle: Sendable {
    /// The waits after the first wake-up, after the second, and so on; the last one repeats.
    package var delays: [Duration] = [
        .seconds(60), .seconds(120), .seconds(240), .seconds(480), .seconds(960), .seconds(1920),
        .seconds(3600),
    ]
    /// The time without a wake-up after which the next one counts as the first.
    package var quietPeriod: Duration = .seconds(24 * 3600)

    package init() {}
}
