import Foundation
import TransferWire

/// The bytes of an upload.
enum UploadSource: Sendable {
    /// A file of this machine, whose bytes are sent to the service.
    case file(URL)
    /// Bytes that come with the task.
    case bytes([UInt8])
    /// A file of the tenant's container.
    case container(path: String)
    /// Bytes that the service gets elsewhere.
    case copy(CopyRequest)
}
