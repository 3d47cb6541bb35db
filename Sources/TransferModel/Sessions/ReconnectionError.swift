/// A reason why a reconnected task cannot be given to its client as expected; the raw value is the
/// one in the API.
package enum ReconnectionError: String, CaseIterable, Error, Sendable {
    /// The task has no client string.
    case noPersistedInfo = "no_persisted_info"
    /// The client string has another version than the client reads.
    case versionMismatch = "version_mismatch"
    /// The client string does not have the form that the client declares.
    case badPersistedFormat = "bad_persisted_format"
    /// The client string names a kind that the client does not know.
    case missingReconnectionCase = "missing_reconnection_case"
    /// The stored form of the task cannot be read by this release of the service.
    case unknown

    /// A sentence for a person.
    package var message: String {
        switch self {
        case .noPersistedInfo: "The task was submitted without a client string."
        case .versionMismatch: "Its client string has another version than was asked for."
        case .badPersistedFormat:
            "Its client string is not a JSON object with a whole `version` and a string `kind`."
        case .missingReconnectionCase: "Its client string names a kind that was not asked for."
        case .unknown: "What is stored of the task cannot be read by this release."
        }
    }
}
