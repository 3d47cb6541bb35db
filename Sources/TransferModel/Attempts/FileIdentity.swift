/// The identity of a file within its file system, whatever its name.
///
/// By it a task tells its own result from another task's file of the same name and size. An inode
/// number is reused once its file is gone, so its creation time is part of the identity. Neither
/// depends on the device number, which a restart of the machine may change.
package struct FileIdentity: Hashable, Sendable {
    /// The bits of the inode number.
    package let inode: Int64
    /// The time at which the inode was created, in nanoseconds since 1970; on file systems that do
    /// not record it, the time of the last write.
    package let bornAtNanoseconds: Int64

    package init(inode: Int64, bornAtNanoseconds: Int64) {
        self.inode = inode
        self.bornAtNanoseconds = bornAtNanoseconds
    }
}
