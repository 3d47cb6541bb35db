import Glibc

/// The error of a file with a secret that cannot be made or used.
struct SecretFileError: Error, CustomStringConvertible {
    let path: String
    let reason: String

    var description: String { "\(path): \(reason)" }
}
