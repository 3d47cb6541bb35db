import Foundation
import Glibc

/// Operations on directories and files, whose errors name the path.
enum Directory {
    /// Creates the directory and those above it; the owner is set only on a new one.
    static func create(
        _ path: String,
        mode: mode_t,
        owner: ServerAccount? = nil
    ) throws(EmbeddedPostgresError) {
        let parent = (path as NSString).deletingLastPathComponent
        if !parent.isEmpty, access(parent, F_OK) != 0 { try create(parent, mode: 0o755) }
        if mkdir(path, mode) == 0 {
            // The umask may have removed the rights that the account of the server needs.
            guard chmod(path, mode) == 0 else { throw failure("chmod", path) }
            if let owner { try give(path, to: owner) }
        } else if errno != EEXIST {
            throw failure("mkdir", path)
        }
    }

    /// Returns the absolute path without symbolic links.
    static func resolve(_ path: String) throws(EmbeddedPostgresError) -> String {
        guard let resolved = realpath(path, nil) else { throw failure("realpath", path) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Removes a directory with all its content; the directory may be missing.
    static func remove(_ path: String) throws(EmbeddedPostgresError) {
        guard access(path, F_OK) == 0 else { return }
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            let cause = (error as? CocoaError)?.underlying as? POSIXError
            throw .system(operation: "remove", path: path, errno: cause?.code.rawValue ?? EIO)
        }
    }

    /// Writes a file that only the owner can read.
    static func write(
        _ text: String,
        to path: String,
        owner: ServerAccount?,
        flags: Int32 = O_TRUNC
    ) throws(EmbeddedPostgresError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0o600)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw failure("write", path)
        }
        if let owner { try give(path, to: owner) }
    }

    private static func give(
        _ path: String,
        to owner: ServerAccount
    ) throws(EmbeddedPostgresError) {
        guard lchown(path, owner.userID, owner.groupID) == 0 else { throw failure("chown", path) }
    }

    private static func failure(_ operation: String, _ path: String) -> EmbeddedPostgresError {
        .system(operation: operation, path: path, errno: errno)
    }
}
