import CLinux
import Glibc
import TransferModel

extension FileIdentity {
    /// Reads the identity of the file `descriptor`, provided that it has `bytes`.
    ///
    /// A file that has lost some since they were written is no result.
    init(of descriptor: Int32, bytes: Int64) throws(StorageError) {
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
