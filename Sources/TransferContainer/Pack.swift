import Glibc
import Synchronization
import TransferModel

/// A pack to which this process adds results.
///
/// It is closed when the last of them is durable or given up and ``Packs`` has let go of it.
package final class Pack: Sendable {
    /// What is known of the flushes of the whole file system since a pack was created.
    final class Flushes: Sendable {
        private let failure = Mutex<StorageError?>(nil)

        /// The error of the first that has failed.
        var error: StorageError? { failure.withLock(\.self) }

        func failed(_ error: StorageError) { failure.withLock { $0 = $0 ?? error } }
    }

    private struct State {
        /// Where the next result begins.
        var end = PackFile.tableEnd
        var isNameDurable = false
        /// The error of a flush of this pack.
        var error: StorageError?
    }

    private let file: PackFile
    private let flushes: Flushes
    private let state = Mutex(State())

    init(_ file: PackFile, _ flushes: Flushes) {
        self.file = file
        self.flushes = flushes
    }

    deinit {
        // Its last result may have been removed while it was open. Should this fail, the search for
        // files of nobody finds it.
        try? file.removeIfEmpty()
    }

    /// Adds a result.
    ///
    /// - Returns: false once a flush has failed: nothing is to lie beside what may be lost.
    func add(
        _ result: UnsafeRawBufferPointer,
        of task: TaskID,
        at index: Int
    ) throws(StorageError) -> Bool {
        let offset = state.withLock { state -> Int64? in
            guard state.error == nil else { return nil }
            defer { state.end = PackFile.end(of: state.end, result.count) }
            return state.end
        }
        guard let offset else { return false }
        try file.write(
            result,
            PackEntry(task: task, offset: offset, result: result),
            at: index
        )
        return true
    }

    /// The directory that has to be made durable together with the results; nil once it was.
    package var newDirectory: String? {
        state.withLock { $0.isNameDurable } ? nil : file.place.directory
    }

    /// Makes all results so far durable, but not the name of the pack; ``requireDurable()`` tells
    /// how that went.
    package func sync() {
        do throws(StorageError) {
            try file.sync()
        } catch {
            distrust(error)
        }
    }

    /// Checks that the results added before ``sync()`` or ``Container/syncAll()`` are durable, and
    /// the name that was flushed with them.
    ///
    /// - Throws: ``StorageError`` when somebody has removed the pack, so that nobody would find
    ///   them, or a flush has failed. From then on it always throws: the kernel tells only once
    ///   that bytes were lost (fsync(2)).
    package func requireDurable() throws(StorageError) {
        if let error = flushes.error { throw error }
        if !file.hasName { distrust(StorageError(operation: "fstat", errno: EIO)) }
        try state.withLock { state throws(StorageError) in
            if let error = state.error { throw error }
            state.isNameDurable = true
        }
    }

    /// Lets nothing more become a result because a flush has failed.
    package func distrust(_ error: StorageError) {
        state.withLock { $0.error = $0.error ?? error }
    }
}
