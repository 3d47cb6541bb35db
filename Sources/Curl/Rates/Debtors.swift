import CCurl

/// The transfers of a loop that owe a pause; confined to the loop's thread.
final class Debtors {
    private var transfers: [ActiveTransfer] = []

    /// Enters a transfer from within libcurl's callbacks, where it cannot be paused.
    func add(_ transfer: ActiveTransfer) { transfers.append(transfer) }

    /// Returns the transfers entered since the last call.
    func take() -> [ActiveTransfer] {
        guard !transfers.isEmpty else { return [] }
        defer { transfers.removeAll(keepingCapacity: true) }
        return transfers
    }
}
