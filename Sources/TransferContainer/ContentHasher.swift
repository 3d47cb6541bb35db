import CLinux
import Crypto
import Glibc
package import TransferModel

/// Computes the checksums of a file while its bytes pass by once, in order.
///
/// Its state cannot be stored: to continue a part file after a restart, first have the existing
/// bytes read again, by ``update(file:range:)``.
package struct ContentHasher {
    /// The number of bytes read at a time: few calls, and they stay in the processor's cache.
    private static let readBytesMax = 256 << 10

    private var crc32c: UInt32?
    private var md5: Insecure.MD5?
    private var sha256: SHA256?
    private var sha512: SHA512?

    /// Creates a hasher for `algorithms`; without any, all calls are free.
    package init(_ algorithms: Set<ChecksumAlgorithm>) {
        if algorithms.contains(.crc32c) { crc32c = 0 }
        if algorithms.contains(.md5) { md5 = Insecure.MD5() }
        if algorithms.contains(.sha256) { sha256 = SHA256() }
        if algorithms.contains(.sha512) { sha512 = SHA512() }
    }

    private var isIdle: Bool { crc32c == nil && md5 == nil && sha256 == nil && sha512 == nil }

    /// Takes the next bytes, which are read in place.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if let crc = crc32c { crc32c = clinux_crc32c(crc, bytes.baseAddress, bytes.count) }
        md5?.update(bufferPointer: bytes)
        sha256?.update(bufferPointer: bytes)
        sha512?.update(bufferPointer: bytes)
    }

    /// Takes the bytes of a part of a file, opened for reading, whose offset does not move.
    ///
    /// Blocks for as long as the reading takes.
    /// - Throws: ``StorageError``; then the bytes taken are unknown and the hasher is useless.
    mutating func update(
        file descriptor: Int32,
        range: Range<Int64>
    ) throws(StorageError) {
        guard !isIdle, !range.isEmpty else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(min(Int64(Self.readBytesMax), range.upperBound - range.lowerBound)),
            alignment: 64
        )
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let limit = Int(min(Int64(buffer.count), range.upperBound - offset))
            let count = pread(descriptor, buffer.baseAddress, limit, off_t(offset))
            if count < 0, errno == EINTR { continue }
            // A file that ends early has lost bytes that were counted as written.
            guard count > 0 else {
                throw StorageError(operation: "pread", errno: count == 0 ? EIO : errno)
            }
            update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }

    /// Returns the checksums of all bytes so far, weakest algorithm first; more bytes may follow.
    package func finalize() -> [Checksum] {
        let checksums = [
            crc32c.flatMap { crc in
                withUnsafeBytes(of: crc.bigEndian) { Checksum(.crc32c, bytes: $0) }
            },
            md5.flatMap { Checksum(.md5, bytes: Array($0.finalize())) },
            sha256.flatMap { Checksum(.sha256, bytes: Array($0.finalize())) },
            sha512.flatMap { Checksum(.sha512, bytes: Array($0.finalize())) },
        ]
        return checksums.compactMap(\.self)
    }
}
