import Foundation

/// The form of client strings that a reconnecting client expects: a JSON object with `version` and
/// `kind`, and any other members.
///
/// Client strings are inspected only for a client that declares such a form; otherwise they are
/// opaque.
package struct PersistedFormat: Equatable, Sendable {
    /// The most kinds that a client may list.
    package static let kindsMax = 100

    /// The version that the client reads.
    package let version: Int
    /// The kinds that the client can continue with.
    package let kinds: Set<String>

    package init(version: Int, kinds: Set<String>) {
        self.version = version
        self.kinds = kinds
    }

    private struct Envelope: Decodable {
        let version: Int
        let kind: String
    }

    /// Returns the error of a client string; nil when it is as expected.
    ///
    /// The form is checked before the version, and the version before the kind.
    package func error(in clientString: ClientString) -> ReconnectionError? {
        let data = Data(clientString.utf8)
        guard let envelope = try? JSONDecoder().decode(Envelope.self, from: data) else {
            return .badPersistedFormat
        }
        guard envelope.version == version else { return .versionMismatch }
        return kinds.contains(envelope.kind) ? nil : .missingReconnectionCase
    }
}
