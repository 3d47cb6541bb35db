import TransferModel

/// What names of credentials must be, in words.
enum CredentialRules {
    static let name =
        "Must be the name of a credential: 1 to \(Credential.nameBytesMax) letters, digits, `.`, "
        + "`_` or `-`."
    /// Bytes of a token, password or value.
    static let secretBytesMax = 7 * 1024
    /// More than an RSA key of 16,384 bits needs.
    static let privateKeyBytesMax = 16 * 1024
}
