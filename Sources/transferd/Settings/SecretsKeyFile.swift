import Foundation
import Logging
import TransferSecrets

/// The location of the key that seals secrets.
struct SecretsKeyFile {
    private let path: String
    /// Whether the file was named and therefore has to exist.
    private let isNamed: Bool
    private let isMadeWhenMissing: Bool

    init(_ configuration: ServerConfiguration) {
        isNamed = configuration.secretsKeyFile != nil
        path = configuration.secretsKeyFile ?? configuration.database.secretsKeyFile
        isMadeWhenMissing = !isNamed && configuration.database.url == nil
    }

    /// Returns the box for secrets; nil when there is no key, and credentials are refused.
    func box(logger: Logger) throws -> SecretBox? {
        if !FileManager.default.fileExists(atPath: path) {
            guard isMadeWhenMissing else {
                if isNamed { throw SecretFileError(path: path, reason: "there is no such file") }
                logger.notice("no key for secrets: credentials are refused")
                return nil
            }
            // A key that another process has just made is as good, and both use it.
            try SecretFile(path: path).create("\(SecretsKey.random())\n")
        }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        guard let keys = SecretsKey.keys(in: text), let box = SecretBox(keys: keys) else {
            throw SecretFileError(
                path: path,
                reason: "must have lines of 64 hexadecimal digits, as `openssl rand -hex 32` prints"
            )
        }
        return box
    }
}
