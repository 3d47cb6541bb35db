import Postgres
import TransferModel

/// A statement that ends attempts or begins their renames, or does so for some of them.
///
/// It answers with the stretches of its arguments that it has changed, `(low, high)`: the places of
/// the first and of the last, from 1.
struct AttemptChange {
    /// The tasks of the arguments, in their order.
    let tasks: [TaskID]
    /// The fences of those that may be in runs of attempts.
    let fences: [Fence]
    let query: Query
    /// The statements that come after all others of the transaction.
    var last: [Query] = []
    /// Whether it decides by what a running attempt has left in `partial`.
    var looksForParts = false

    /// Returns the tasks that an answer names.
    func changed(_ answer: StoredRows) throws(StoreError) -> [TaskID] {
        var changed: [TaskID] = []
        changed.reserveCapacity(tasks.count)
        for row in answer {
            let (low, high) = (
                try row.decode("low", as: Int32.self), try row.decode("high", as: Int32.self)
            )
            guard 1 <= low, low <= high, high <= tasks.count else {
                throw StoreError(decoding: "changed attempts that were not among the given ones")
            }
            changed += tasks[Int(low) - 1..<Int(high)]
        }
        return changed
    }
}
