/// A hint that a commit may have left work for others, sent to those who would otherwise find it
/// at their next poll.
///
/// A signal says "look", not what there is to see: a lost signal costs time and nothing else.
package enum Signal: String, CaseIterable, Hashable, Sendable {
    /// Tasks may have become runnable.
    case work
    /// Deliveries may be due.
    case deliveries
    /// Messages may be due that were asked for once more.
    case replays
    /// Readers may find a changed task or further events.
    case events
    /// A moment may have been set, for a client or its background tasks, before all others.
    case timers
    /// Attempts may have to stop or to observe other limits.
    case control
}

extension Signal {
    /// The most hosts that are named with ``work``.
    ///
    /// Their names lead past the flows of others: among a million of these the next poll would find
    /// a new one after minutes. Tasks of hosts that are not named are found all the same.
    package static let hostsMax = 256
}

extension Set<Signal> {
    /// What a change to tasks, sessions or their limits may leave.
    package static let ofTasks: Self = [.work, .deliveries, .events, .control]
    /// What a change to a client or its background tasks may leave.
    package static let ofClients: Self = [.timers, .deliveries, .events]
}
