import Crypto

/// The status, size and hash of content that was read and not kept.
struct ContentDigest: Sendable {
    let status: Int
    let byteCount: Int64
    let sha256: SHA256.Digest

    /// The hash as `sha256sum` prints it.
    var hexadecimal: String {
        sha256.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
    }
}
