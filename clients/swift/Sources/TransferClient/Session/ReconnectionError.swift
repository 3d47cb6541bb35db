import TransferWire

/// A task of an earlier process with which this one cannot continue.
public struct ReconnectionError: Error, Sendable {
    /// The kinds of reasons; more may be added.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kind as text.
        public let rawValue: String

        /// Names a kind, also one that is newer than this release.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The task has no client string.
        public static let noPersistedInfo = Kind(rawValue: "no_persisted_info")
        /// The client string has another version.
        public static let versionMismatch = Kind(rawValue: "version_mismatch")
        /// The client string does not have the form that was declared.
        public static let badPersistedFormat = Kind(rawValue: "bad_persisted_format")
        /// The kind that the client string names is not one of those declared.
        public static let missingReconnectionCase = Kind(rawValue: "missing_reconnection_case")
        /// The service cannot read the task.
        public static let unknown = Kind(rawValue: "unknown")
    }

    /// The identifier of the task.
    public let taskIdentifier: String
    /// The kind of the reason.
    public let kind: Kind
    /// The reason as text for people.
    public let message: String

    init(_ failure: ReconnectionDocument.Failure) {
        taskIdentifier = failure.taskID
        kind = Kind(rawValue: failure.kind)
        message = failure.message
    }
}
