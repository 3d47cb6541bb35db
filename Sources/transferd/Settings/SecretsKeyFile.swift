import Foundation
import Logging
import TransferModel
import TransferSecrets
import TransferStore

/// The location of the key that seals secrets.
struct SecretsKeyFile {
    private let path: String
    /// Whether the file was named and therefore has to exist.
    private let isNamed: Bool
    private let isMadeWhenMissing: Bool
    private let mode: SecretsMode

    /// A file that has to exist.
    init(at path: String) {
        self.path = path
        isNamed = true
        isMadeWhenMissing = false
        mode = .sealed
    }

    init(_ configuration: ServerConfiguration) {
        self.init(
            named: configuration.secretsKeyFile,
            configuration.database,
            configuration.secretsMode
        )
    }

    /// The file that a service would use whose settings are all in the environment.
    init(_ location: DatabaseLocation, _ reader: inout SettingsReader) {
        self.init(
            named: reader.text(nil, "TRANSFERD_SECRETS_KEY_FILE"),
            location,
            reader.word(nil, "TRANSFERD_SECRETS", default: .sealed)
        )
    }

    private init(named name: String?, _ location: DatabaseLocation, _ mode: SecretsMode) {
        isNamed = name != nil
        path = name ?? location.secretsKeyFile
        isMadeWhenMissing = name == nil && location.url == nil
        self.mode = mode
    }

    /// Whether there is no file yet, and ``box(logger:)`` makes it.
    var isToBeMade: Bool { isMadeWhenMissing && !FileManager.default.fileExists(atPath: path) }

    /// Returns the box for secrets; nil when there is no key, and credentials are refused.
    func box(logger: Logger) throws -> SecretBox? {
        if !FileManager.default.fileExists(atPath: path) {
            guard isMadeWhenMissing else {
                if isNamed { throw SecretFileError(path: path, reason: "there is no such file") }
                guard mode == .plain else {
                    throw SecretFileError(
                        path: path,
                        reason: """
                            there is no such file, and secrets would be stored as they are. Make one \
                            with `openssl rand -hex 32` that this user alone can read, the same for \
                            all instances, or set TRANSFERD_SECRETS to plain
                            """
                    )
                }
                logger.warning("no key for secrets: they are stored as they are")
                return nil
            }
            // A key that another process has just made is as good, and both use it.
            try SecretFile(path: path).create("\(SecretsKey.random())\n")
        }
        try SecretFile(path: path).checkAccess()
        let text = try String(contentsOfFile: path, encoding: .utf8)
        guard let keys = SecretsKey.keys(in: text), let box = SecretBox(keys: keys) else {
            throw SecretFileError(
                path: path,
                reason: "must have lines of 64 hexadecimal digits, as `openssl rand -hex 32` prints"
            )
        }
        return box
    }

    /// Checks that the box opens all that is sealed in the database, and records the key that
    /// seals.
    func check(_ box: SecretBox?, _ store: SecretsKeyStore) async throws {
        let missing = try await store.use(box?.sealingKeyName, among: box?.keyNames ?? [])
        guard !missing.isEmpty else { return }
        let names = missing.map(\.hexadecimal)
        throw SecretFileError(
            path: path,
            reason: """
                lacks keys whose SHA-256 starts with \(names.joined(separator: ", ")), with which \
                secrets of this database are sealed: add each as another line
                """
        )
    }
}
