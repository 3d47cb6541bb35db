/// What a commit may have left for others to do, told to whoever would otherwise find it with its
/// next poll.
///
/// A signal says "look", not what there is to see: one that is lost costs time and nothing else.
package enum Signal: String, CaseIterable, Hashable, Sendable {
    /// Tasks may have become runnable.
    case work
    /// Deliveries may have become due.
    case deliveries
    /// Readers may find a task changed, or further events.
    case events
    /// Attempts may have to stop, or to keep to other limits.
    case control
}
