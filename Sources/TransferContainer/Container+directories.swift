import Glibc
import Synchronization

/// The directories that files are placed in.
extension Container {
    /// The number of paths remembered as durable; beyond it, all are checked again.
    static let durableDirectoriesMax = 16_384

    /// Returns whether the directory of a file existed and was durable when it was last needed.
    ///
    /// This costs no system call.
    package func hasDirectory(of place: Place) -> Bool {
        durableDirectories.withLock { $0.contains(place.directory) }
    }

    /// Creates the directories above a file as needed, each durable in its parent.
    ///
    /// Waits for the disk once for each new directory, and so belongs on a thread that may block
    /// for long.
    package func prepareDirectory(of place: Place) throws(StorageError) {
        let path = place.directory
        try createDirectories(path)
        durableDirectories.withLock { known in
            if known.count >= Self.durableDirectoriesMax { known = [] }
            known.insert(path)
        }
    }

    /// Records that the directory of a file is gone.
    func forgetDirectory(of place: Place) {
        durableDirectories.withLock { _ = $0.remove(place.directory) }
    }
}
