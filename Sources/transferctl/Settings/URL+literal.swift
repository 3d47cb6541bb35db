import Foundation

extension URL {
    /// Names a file by its path as it is, where `init(filePath:)` takes a tilde for a home.
    ///
    /// It is the shell that means a home by a tilde, and replaces it before a command begins.
    init(literal path: String) { self.init(filePath: path.hasPrefix("~") ? "./\(path)" : path) }
}
