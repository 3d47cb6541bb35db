import CLinux
import Glibc
package import TransferModel

extension FileIdentity {
    /// Which file `descriptor` is, if it has `bytes`: one that has lost some since they were written
    /// is no result.
    package init(of descriptor: Int32, bytes: Int64) throws(StorageError) {
        var found = clinux_identity()
        guard clinux_identify(descriptor, "", &found) == 0 else {
            throw StorageError(operation: "statx", errno: errno)
        }
        guard found.size == bytes else { throw StorageError(operation: "statx", errno: EIO) }
        self.init(found)
    }

    init(_ found: clinux_identity) {
        self.init(
            inode: Int64(bitPattern: found.inode),
            bornAtNanoseconds: found.born_ns
        )
    }
}
