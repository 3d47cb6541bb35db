/// What this machine may be short of; no task's fault, and over without anybody changing one.
///
/// Its word is the code of the failure that a task waits with, and what `/health` tells.
package enum Shortage: String, CaseIterable, Comparable, Sendable {
    /// The container's file system has no space left, or the quota none.
    case storageFull = "storage_full"
    /// The container as a whole cannot be written: it is read-only, or the rights are missing.
    case storageUnwritable = "storage_unwritable"
    /// The container's file system answers with errors, as one does whose server is away.
    case storageFailure = "storage_failure"
    /// The process or the machine has as many files and sockets open as it may.
    case descriptorsExhausted = "descriptors_exhausted"
    /// Memory, or the number of threads, ran out.
    case memoryExhausted = "memory_exhausted"

    package static func < (a: Shortage, b: Shortage) -> Bool { a.rawValue < b.rawValue }

    /// The code of a failure that it causes.
    package var code: TransferFailure.Code {
        switch self {
        case .storageFull: .storageFull
        case .storageUnwritable: .storageUnwritable
        case .storageFailure: .storageFailure
        case .descriptorsExhausted: .descriptorsExhausted
        case .memoryExhausted: .memoryExhausted
        }
    }
}

extension TransferFailure {
    /// What this machine was short of, if that was the cause: the task waits, and the attempt does
    /// not count.
    package var shortage: Shortage? { isFinal ? nil : Shortage(rawValue: code.rawValue) }
}
