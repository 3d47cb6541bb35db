import Testing
import TransferModel

@Suite struct ChecksumTests {
    @Test(arguments: [
        (ChecksumAlgorithm.sha256, "sha-256", 32), (.sha512, "sha-512", 64), (.md5, "md5", 16),
        (.crc32c, "crc32c", 4),
    ])
    func anAlgorithmIsNamedAsInTheRegistry(
        algorithm: ChecksumAlgorithm,
        name: String,
        byteCount: Int
    ) {
        #expect(algorithm.rawValue == name)
        #expect(algorithm.byteCount == byteCount)
    }

    @Test func algorithmsAreOrderedByStrength() {
        #expect(ChecksumAlgorithm.allCases.sorted() == [.crc32c, .md5, .sha256, .sha512])
    }

    @Test func readsHexadecimalDigitsOfEitherCase() throws {
        let lower = try #require(Checksum(.crc32c, hex: "0aff9e10"))
        #expect(lower.bytes == [0x0A, 0xFF, 0x9E, 0x10])
        #expect(Checksum(.crc32c, hex: "0AfF9E10") == lower)
        #expect(lower.description == "0aff9e10")
    }

    @Test(arguments: ChecksumAlgorithm.allCases)
    func itsDescriptionReadsBackAsTheSame(algorithm: ChecksumAlgorithm) throws {
        let bytes = (0..<algorithm.byteCount).map { UInt8(truncatingIfNeeded: $0 * 37 + 250) }
        let checksum = try #require(Checksum(algorithm, bytes: bytes))
        #expect(checksum.bytes == bytes)
        #expect(Checksum(algorithm, hex: checksum.description) == checksum)
    }

    @Test(arguments: [
        "", "0aff9e1", "0aff9e100", "0aff9e1000", "0aff9e1g", "0aff9e1G", "0aff9e1/", "0aff9e1:",
        "0aff9e1@",
        "0aff9e1`", " aff9e10", "0aff9e1\n", "0x0aff9e", "+aff9e10", "0a ff 9e", "٠٠٠٠",
        "0aff9e\0\0",
        "0aff9e1\u{301}",
    ])
    func refusesWhatIsNotExactlyItsDigits(hex: String) {
        #expect(Checksum(.crc32c, hex: hex) == nil)
    }

    @Test func refusesBytesOfAnotherLength() {
        #expect(Checksum(.md5, bytes: [UInt8](repeating: 0, count: 15)) == nil)
        #expect(Checksum(.md5, bytes: [UInt8](repeating: 0, count: 17)) == nil)
        #expect(Checksum(.md5, bytes: EmptyCollection()) == nil)
    }

    @Test func checksumsDifferByAByteOrAnAlgorithm() {
        #expect(Checksum(.crc32c, hex: "00000000") != Checksum(.crc32c, hex: "00000001"))
        #expect(
            Checksum(.sha256, bytes: [UInt8](repeating: 0, count: 32))
                != Checksum(.sha512, bytes: [UInt8](repeating: 0, count: 64))
        )
    }
}
