import Glibc
import Synchronization

/// The directories that files are put into.
extension Container {
    /// Paths that are remembered as durable; beyond, all are looked at anew.
    static let durableDirectoriesMax = 16_384

    /// Whether the directory of a file was there and durable when it was needed last; costs no
    /// system call.
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

    /// Takes note that the directory of a file is gone.
    func forgetDirectory(of place: Place) {
        durableDirectories.withLock { _ = $0.remove(place.directory) }
    }
}
