import Glibc

/// The error when a secret could not be stored.
struct SecretFileError: Error, CustomStringConvertible {
    let path: String
    let reason: String

    var description: String { "\(path): \(reason)" }
}
