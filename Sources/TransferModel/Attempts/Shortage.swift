/// A resource that this machine may be short of.
///
/// A shortage is no task's fault, and ends without a change to any task. The raw value is the code
/// of the failure that a task waits with, and the word in `/health`.
package enum Shortage: String, CaseIterable, Comparable, Sendable {
    /// The container's file system or its quota has no space left.
    case storageFull = "storage_full"
    /// The container as a whole cannot be written: it is read-only, or permissions are missing.
    case storageUnwritable = "storage_unwritable"
    /// The container's file system answers with errors, as when its server is away.
    case storageFailure = "storage_failure"
    /// The process or the machine has as many files and sockets open as it may have.
    case descriptorsExhausted = "descriptors_exhausted"
    /// Memory, or the number of threads, ran out.
    case memoryExhausted = "memory_exhausted"

    /// Returns whether the raw value of `a` sorts first.
    package static func < (a: Shortage, b: Shortage) -> Bool { a.rawValue < b.rawValue }
}

extension TransferFailure {
    /// The shortage that caused the failure, if one did: the task waits, and the attempt does not
    /// count.
    package var shortage: Shortage? { isFinal ? nil : Shortage(rawValue: code.rawValue) }
}
