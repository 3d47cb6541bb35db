import Synchronization

/// Numbers that only grow, one for each value of the labels.
///
/// The labels come from closed sets, so that there are only so many.
package final class Counters<Label: Hashable & Sendable>: Sendable {
    private let counts = Mutex<[Label: Int64]>([:])

    package init() {}

    /// Adds to the number of a label.
    package func add(_ count: Int64 = 1, to label: Label) {
        counts.withLock { $0[label, default: 0] += count }
    }

    /// The numbers so far.
    package var values: [Label: Int64] { counts.withLock { $0 } }
}
