import Crypto
import TransferClient

/// The size and hash of content that was read and not kept.
struct ContentDigest: Sendable {
    let byteCount: Int64
    let sha256: SHA256.Digest

    /// Reads content to its end.
    init(of content: TransferBytes) async throws(TransferError) {
        var hash = SHA256()
        var byteCount: Int64 = 0
        for try await bytes in content {
            hash.update(data: bytes)
            byteCount += Int64(bytes.count)
        }
        self.byteCount = byteCount
        sha256 = hash.finalize()
    }

    /// The hash as `sha256sum` prints it.
    var hexadecimal: String {
        sha256.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
    }
}
