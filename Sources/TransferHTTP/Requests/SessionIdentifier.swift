import Hummingbird
import TransferModel

/// The rule for names of sessions, which is the same in paths, bodies and cursors.
enum SessionIdentifier {
    /// Whether an identifier is valid, by its length in bytes: PostgreSQL's `text` accepts any
    /// UTF-8 except NUL.
    static func isValid(_ identifier: String) -> Bool {
        (1...Session.identifierBytesMax).contains(identifier.utf8.count)
            && !identifier.utf8.contains(0)
    }

    static let rule = "Must have 1 to \(Session.identifierBytesMax) bytes of UTF-8 and no NUL."
}
