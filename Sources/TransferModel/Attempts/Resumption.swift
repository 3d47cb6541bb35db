/// An attempt whose origin sends only the rest of the file.
package struct Resumption: Hashable, Sendable {
    package let task: TaskID
    package let fence: Fence
    /// The number of bytes that need not be sent again.
    package let offset: Int64

    package init(task: TaskID, fence: Fence, offset: Int64) {
        self.task = task
        self.fence = fence
        self.offset = offset
    }
}
