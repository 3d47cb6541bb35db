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

    /// Checks that neither strangers can read the file nor others change it.
    func checkAccess() throws {
        // Secrets of an orchestrator are often links.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let attributes: [FileAttributeKey: Any]
        do {
            attributes = try FileManager.default.attributesOfItem(atPath: target)
        } catch {
            throw SecretFileError(path: path, reason: "cannot be read: \(error)")
        }
        let mode = attributes[.posixPermissions] as? Int ?? 0o777
        guard mode & 0o027 == 0 else {
            throw SecretFileError(
                path: path,
                reason: """
                    has the mode \(String(mode, radix: 8)), with which others can use it: give it to \
                    the user of this service (chown) and to nobody else (chmod 400)
                    """
            )
        }
    }

    private func failure(_ operation: String) -> SecretFileError {
        SecretFileError(path: path, reason: "\(operation): \(String(cString: strerror(errno)))")
    }
}
