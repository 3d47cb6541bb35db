/// Which file of its file system a file is, whatever its name: by this a task knows its own result
/// from another's of the same name and size.
///
/// An inode is used again once its file is gone, so that the time at which it was made belongs to it.
/// Neither depends on the number of the device, which a restart of the machine may change.
package struct FileIdentity: Hashable, Sendable {
    /// The bits of the inode's number.
    package let inode: Int64
    /// When the inode was made, in nanoseconds since 1970; when the file was last written, on file
    /// systems that do not know.
    package let bornAtNanoseconds: Int64

    package init(inode: Int64, bornAtNanoseconds: Int64) {
        self.inode = inode
        self.bornAtNanoseconds = bornAtNanoseconds
    }
}
