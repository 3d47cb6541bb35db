import Hummingbird
import TransferModel

/// The rule for names of clients.
enum ClientRule {
    static let name = """
        Must have 1 to \(ClientID.bytesMax) letters, digits, dots, hyphens and underscores, but \
        not be `.` or `..`.
        """
}
