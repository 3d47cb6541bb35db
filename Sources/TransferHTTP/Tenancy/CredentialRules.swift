/// The rules for credentials, in words and in bytes.
enum CredentialRules {
    /// The maximum number of bytes of a token, password or value.
    static let secretBytesMax = 7 * 1024
    /// The maximum number of bytes of a private key, more than an RSA key of 8192 bits needs: each
    /// signature of one with twice the bits keeps a thread that transfers busy for a second.
    static let privateKeyBytesMax = 8 * 1024
}
