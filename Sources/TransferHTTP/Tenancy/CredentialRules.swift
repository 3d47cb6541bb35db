import TransferModel

/// The rules for credentials, in words and in bytes.
enum CredentialRules {
    /// The maximum number of bytes of a token, password or value.
    static let secretBytesMax = 7 * 1024
    /// The maximum number of bytes of a private key, more than an RSA key of 16,384 bits needs.
    static let privateKeyBytesMax = 16 * 1024
}
