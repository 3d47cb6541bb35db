import Foundation
import Glibc

/// A file that only its owner can read, from the moment it exists.
struct SecretFile {
    let path: String

    /// Creates the file as a whole, unless it exists.
    ///
    /// Under its name it is never empty, and of several processes that want it, one creates it.
    ///
    /// - Returns: whether this call has created it.
    @discardableResult
    func create(_ text: String) throws -> Bool {
        // Process identifiers are not unique: all containers that share a directory may have 1.
        let temporary = "\(path).\(UUID().uuidString.lowercased())"
        let descriptor = open(
            temporary,
            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
            0o600
        )
        guard descriptor >= 0 else { throw failure("create") }
        defer { unlink(temporary) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(text.utf8))
        try file.synchronize()
        // Unlike rename(2), this replaces nothing.
        guard link(temporary, path) == 0 else {
            if errno == EEXIST { return false }
            throw failure("link")
        }
        return true
    }

    private func failure(_ operation: String) -> SecretFileError {
        SecretFileError(path: path, reason: "\(operation): \(String(cString: strerror(errno)))")
    }
}
