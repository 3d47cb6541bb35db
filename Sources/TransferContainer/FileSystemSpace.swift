import Glibc

/// The space of a file system, in bytes.
package struct FileSystemSpace: Equatable, Sendable {
    /// The space that is left; what is reserved for root is not.
    package let free: Int64
    package let total: Int64

    package init(free: Int64, total: Int64) {
        self.free = free
        self.total = total
    }

    /// Reads the space of the file system that holds an open file (statvfs(3)).
    ///
    /// One without a size, such as a tmpfs with `size=0`, has no bound of its own.
    init(of descriptor: Int32) throws(StorageError) {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0 else {
            throw StorageError(operation: "fstatvfs", errno: errno)
        }
        guard status.f_blocks > 0 else {
            self.init(free: .max, total: .max)
            return
        }
        func bytes(_ blocks: UInt) -> Int64 {
            let (bytes, isOver) = blocks.multipliedReportingOverflow(by: status.f_frsize)
            return isOver ? .max : Int64(clamping: bytes)
        }
        self.init(free: bytes(status.f_bavail), total: bytes(status.f_blocks))
    }
}
