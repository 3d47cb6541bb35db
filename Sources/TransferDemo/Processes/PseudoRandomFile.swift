import Crypto

/// A file that needs no disk: its bytes follow from a seed and a size.
struct PseudoRandomFile: Sendable, Hashable {
    let seed: UInt64
    let byteCount: Int

    /// The number of bytes made at once.
    private static let chunkBytes = 128 * 1024

    /// The content, chunk by chunk.
    ///
    /// Each is the same noise with its own offset stamped on its front: cheap to make, and still
    /// no chunk can be lost, repeated or swapped without changing the hash.
    var chunks: some Sequence<[UInt8]> {
        let noise = noise
        return stride(from: 0, to: byteCount, by: Self.chunkBytes).lazy.map { offset in
            var chunk = Array(noise.prefix(byteCount - offset))
            withUnsafeBytes(of: UInt64(offset).littleEndian) { stamp in
                for (index, byte) in zip(chunk.indices, stamp) { chunk[index] ^= byte }
            }
            return chunk
        }
    }

    /// The hash of the whole content.
    var sha256: SHA256.Digest {
        var hash = SHA256()
        for chunk in chunks { hash.update(data: chunk) }
        return hash.finalize()
    }

    /// A chunk of SplitMix64's output.
    private var noise: [UInt8] {
        var state = seed
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.chunkBytes)
        while bytes.count < min(Self.chunkBytes, byteCount) {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            word ^= word >> 31
            withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }
}
