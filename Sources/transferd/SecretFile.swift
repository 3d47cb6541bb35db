import Foundation
import Glibc

/// A file that only its owner can read, from the moment it exists.
struct SecretFile {
    let path: String

    /// Creates the file whole: under its name it is never empty.
    func write(_ text: String) throws {
        let temporary = "\(path).\(getpid())"
        let descriptor = open(
            temporary,
            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
            0o600
        )
        guard descriptor >= 0 else { throw failure("create") }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(text.utf8))
        try file.synchronize()
        guard rename(temporary, path) == 0 else { throw failure("rename") }
    }

    private func failure(_ operation: String) -> SecretFileError {
        SecretFileError(path: path, reason: "\(operation): \(String(cString: strerror(errno)))")
    }
}

/// A secret could not be stored.
struct SecretFileError: Error, CustomStringConvertible {
    let path: String
    let reason: String

    var description: String { "\(path): \(reason)" }
}
