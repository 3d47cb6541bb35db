import Foundation

/// What a client that reconnects expects in its client strings: a JSON object with `version` and
/// `kind`, and whatever else it likes.
///
/// Only who declares it has its client strings looked into; otherwise they are opaque.
package struct PersistedFormat: Equatable, Sendable {
    package static let kindsMax = 100

    package let version: Int
    /// Those that the client can go on with.
    package let kinds: Set<String>

    package init(version: Int, kinds: Set<String>) {
        self.version = version
        self.kinds = kinds
    }

    private struct Envelope: Decodable {
        let version: Int
        let kind: String
    }

    /// What is wrong with a client string; nil for nothing.
    ///
    /// Form is looked at before version, and version before kind.
    package func error(in clientString: ClientString) -> ReconnectionError? {
        let data = Data(clientString.utf8)
        guard let envelope = try? JSONDecoder().decode(Envelope.self, from: data) else {
            return .badPersistedFormat
        }
        guard envelope.version == version else { return .versionMismatch }
        return kinds.contains(envelope.kind) ? nil : .missingReconnectionCase
    }
}
