import TransferModel
import TransferWire

/// The form of client strings that a reconnecting client expects: a JSON object with `version` and
/// `kind`, and any other members.
///
/// Client strings are inspected only for a client that declares such a form; otherwise they are
/// opaque.
struct PersistedFormat: Sendable {
    /// The most kinds that a client may list.
    static let kindsMax = 100

    /// The version that the client reads.
    let version: Int
    /// The kinds that the client can continue with.
    let kinds: Set<String>

    private struct Envelope: Decodable {
        let version: Int
        let kind: String
    }

    /// Returns the error of a client string; nil when it is as expected.
    ///
    /// The form is checked before the version, and the version before the kind.
    func error(in clientString: ClientString) -> ReconnectionError? {
        let text = Array(clientString.utf8)
        guard let envelope = try? WireDecoder.decode(Envelope.self, from: text) else {
            return .badPersistedFormat
        }
        guard envelope.version == version else { return .versionMismatch }
        // Kinds of too many marks cannot be listed, and would take long to compare.
        guard !CombiningMarks.areTooMany(in: envelope.kind), kinds.contains(envelope.kind) else {
            return .missingReconnectionCase
        }
        return nil
    }
}

extension Reconnection.Item {
    /// Returns the task, or the reason why its client cannot continue with it.
    func result(in format: PersistedFormat?) -> Result<TransferTask, ReconnectionError> {
        guard let task else { return .failure(.unknown) }
        guard let clientString = task.clientString else { return .failure(.noPersistedInfo) }
        if let error = format?.error(in: clientString) { return .failure(error) }
        return .success(task)
    }
}
