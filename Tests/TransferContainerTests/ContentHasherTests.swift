import CLinux
import Foundation
import Testing
import TransferModel

@testable import TransferContainer

@Suite struct ContentHasherTests {
    private static let all = Set(ChecksumAlgorithm.allCases)

    private static func checksums(
        of bytes: some Sequence<UInt8>,
        _ algorithms: Set<ChecksumAlgorithm> = all
    ) -> [Checksum] {
        var hasher = ContentHasher(algorithms)
        Array(bytes).withUnsafeBytes { hasher.update($0) }
        return hasher.finalize()
    }

    /// Returns bytes without a pattern that could hide a wrong join of hosts.
    private static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return (0..<count).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state >> 32)
        }
    }

    /// The vectors of RFC 3720, appendix B.4, whose bytes are in the order of the wire: lowest
    /// first.
    @Test(
        arguments: [
            (Array(repeating: 0x00, count: 32), "8a9136aa"),
            (Array(repeating: 0xFF, count: 32), "62a8ab43"),
            (Array(0...31), "46dd794e"), ((0...31).reversed(), "113fdb5c"),
            (readCommand, "d9963a56"), (Array("123456789".utf8), "e3069283"), ([], "00000000"),
        ] as [([UInt8], String)]
    )
    func knowsTheVectorsOfCRC32C(bytes: [UInt8], hex: String) {
        #expect(Self.checksums(of: bytes, [.crc32c]).map(\.description) == [hex])
    }

    /// The iSCSI SCSI Read (10) command of the same appendix.
    private static let readCommand: [UInt8] = [
        0x01, 0xC0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00,
        0x00, 0x18, 0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00,
    ]

    /// The vectors of RFC 1321, appendix A.5.
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ])
    func knowsTheVectorsOfMD5(text: String, hex: String) {
        #expect(Self.checksums(of: text.utf8, [.md5]).map(\.description) == [hex])
    }

    /// NIST's examples for FIPS 180-4.
    @Test func knowsTheVectorsOfSHA2() {
        let text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        #expect(
            Self.checksums(of: "abc".utf8, [.sha256, .sha512]).map(\.description) == [
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                    + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ]
        )
        #expect(
            Self.checksums(of: text.utf8, [.sha256]).map(\.description)
                == ["248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"]
        )
    }

    @Test func theResultDoesNotDependOnHowTheBytesCome() {
        let bytes = Self.noise(40_000)
        let whole = Self.checksums(of: bytes)
        for size in [1, 7, 64, 1023, 3072, 3073, 16_384, 39_999] {
            var hasher = ContentHasher(Self.all)
            bytes.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    hasher.update(UnsafeRawBufferPointer(rebasing: rest.prefix(size)))
                    rest = rest.dropFirst(size)
                }
            }
            #expect(hasher.finalize() == whole, "in pieces of \(size)")
        }
    }

    @Test func theInstructionAndTheTableAgreeAtEveryLengthAndAlignment() {
        let bytes = Self.noise(3 * 3072 + 64)
        bytes.withUnsafeBytes { bytes in
            for start in 0..<16 {
                for count in Array(0..<70) + [3071, 3072, 3073, 3080, 6143, 6144, 9216 + 17] {
                    let part = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
                    #expect(
                        clinux_crc32c(7, part.baseAddress, count)
                            == clinux_crc32c_by_table(7, part.baseAddress, count),
                        "\(count) bytes from \(start)"
                    )
                }
            }
        }
    }

    @Test func readsAPartOfAFileWithoutMovingItsOffset() throws {
        let bytes = Self.noise(700_001)
        let file = try TemporaryFile(bytes)
        for range in [0..<700_001, 0..<1, 300_000..<700_001, 5..<5] as [Range<Int64>] {
            var hasher = ContentHasher(Self.all)
            try hasher.update(file: file.descriptor, range: range)
            let part = bytes[Int(range.lowerBound)..<Int(range.upperBound)]
            #expect(hasher.finalize() == Self.checksums(of: part))
        }
        #expect(lseek(file.descriptor, 0, SEEK_CUR) == 0)
    }

    @Test func goesOnAfterWhatAPartFileHolds() throws {
        let bytes = Self.noise(10_000)
        let file = try TemporaryFile(bytes.prefix(4_321))
        var hasher = ContentHasher(Self.all)
        try hasher.update(file: file.descriptor, range: 0..<4_321)
        bytes[4_321...].withUnsafeBytes { hasher.update($0) }
        #expect(hasher.finalize() == Self.checksums(of: bytes))
    }

    @Test func aFileThatEndsEarlyIsAStorageFailure() throws {
        let file = try TemporaryFile(Self.noise(100))
        var hasher = ContentHasher([.sha256])
        let error = try #require(throws: StorageError.self) {
            try hasher.update(file: file.descriptor, range: 0..<101)
        }
        #expect(error == StorageError(operation: "pread", errno: EIO))
        #expect(error.failure.code == .storageFailure)
    }

    @Test func aFailedReadKeepsItsCause() throws {
        var hasher = ContentHasher([.md5])
        let error = try #require(throws: StorageError.self) {
            try hasher.update(file: -1, range: 0..<1)
        }
        #expect(error == StorageError(operation: "pread", errno: EBADF))
    }

    @Test func withoutAlgorithmsNothingIsReadAndNothingComesOut() throws {
        var hasher = ContentHasher([])
        hasher.update(UnsafeRawBufferPointer(start: nil, count: 0))
        Self.noise(10).withUnsafeBytes { hasher.update($0) }
        // There is no such descriptor: the call would fail if it read.
        try hasher.update(file: -1, range: 0..<10)
        #expect(hasher.finalize().isEmpty)
    }

    @Test func aCopyGoesItsOwnWay() {
        var hasher = ContentHasher(Self.all)
        Array("abc".utf8).withUnsafeBytes { hasher.update($0) }
        let copy = hasher
        Array("def".utf8).withUnsafeBytes { hasher.update($0) }
        #expect(copy.finalize() == Self.checksums(of: "abc".utf8))
        #expect(hasher.finalize() == Self.checksums(of: "abcdef".utf8))
    }
}

/// A file without a name, which disappears when it is closed.
private final class TemporaryFile {
    let descriptor: Int32

    init(_ bytes: some Collection<UInt8>) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "hasher-\(UUID())").path
        descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0, "\(String(cString: strerror(errno)))")
        unlink(path)
        let count = Array(bytes).withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, $0.count, 0)
        }
        try #require(count == bytes.count)
    }

    deinit { close(descriptor) }
}
