import Testing
import TransferModel

@Suite struct DigestFieldsTests {
    /// The digests of `{"hello": "world"}` in RFC 9530, appendix D.
    private static let sha256 = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"
    private static let sha512 =
        "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+"
        + "AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"
    private static let md5 = "md5=:Sd/dVLAcvNLSq16eXua5uQ==:"
    private static let crc32c = "crc32c=:Q3lHIA==:"
    private static let unknown = "sha=:07CavjDP4u3/TungoUHJO/Wzr4c=:, unixsum=:GQU=:"

    private static let sha256Hex =
        "5f8f04f6a3a892aaabbddb6cf273894493773960d4a325b105fee46eef4304f1"

    private static func digests(
        _ status: Int,
        _ headers: (name: String, value: String)...
    ) -> [String] {
        DigestFields.checksums(status: status, headers: headers)
            .map { "\($0.algorithm.rawValue) \($0)" }
    }

    private static func digests(_ value: String) -> [String] {
        digests(200, ("Repr-Digest", value))
    }

    @Test func readsEachKnownAlgorithm() {
        #expect(Self.digests(Self.sha256) == ["sha-256 \(Self.sha256Hex)"])
        #expect(
            Self.digests(Self.sha512) == [
                "sha-512 5990cf6959ffed7807680cbca66a23024196a11c765050a1178d40dacbd7f9368f9be01b"
                    + "c008015a7ac8898965bbb04d37279a95d54bbd1c049931d65ef2707b"
            ]
        )
        #expect(Self.digests(Self.md5) == ["md5 49dfdd54b01cbcd2d2ab5e9e5ee6b9b9"])
        #expect(Self.digests(Self.crc32c) == ["crc32c 43794720"])
    }

    @Test func skipsAlgorithmsThatAreNotKnown() {
        #expect(Self.digests(Self.unknown).isEmpty)
        #expect(Self.digests("\(Self.unknown), \(Self.crc32c)") == ["crc32c 43794720"])
    }

    @Test func takesTheStrongestOfAll() {
        let weak = "\(Self.crc32c),\(Self.md5)"
        #expect(Self.digests("\(weak), \(Self.sha256)") == ["sha-256 \(Self.sha256Hex)"])
        #expect(
            Self.digests("\(Self.sha512), \(weak), \(Self.sha256)").map { $0.prefix(7) } == [
                "sha-512"
            ]
        )
        #expect(Self.digests(weak).map { $0.prefix(3) } == ["md5"])
        #expect(
            Self.digests(200, ("Repr-Digest", weak), ("Content-Digest", Self.sha256))
                == ["sha-256 \(Self.sha256Hex)"]
        )
    }

    @Test func theDigestOfAPartSaysNothingAboutTheFile() {
        #expect(Self.digests(206, ("Content-Digest", Self.sha256)).isEmpty)
        #expect(
            Self.digests(206, ("Repr-Digest", Self.md5), ("Content-Digest", Self.sha256))
                == ["md5 49dfdd54b01cbcd2d2ab5e9e5ee6b9b9"]
        )
        #expect(
            Self.digests(200, ("Content-Digest", Self.sha256)) == ["sha-256 \(Self.sha256Hex)"]
        )
    }

    @Test(arguments: [201, 203, 204, 301, 404, 500])
    func otherStatusesDescribeSomethingElse(status: Int) {
        #expect(
            Self.digests(status, ("Repr-Digest", Self.sha256), ("Content-Digest", Self.md5)).isEmpty
        )
    }

    @Test func theSameDigestInBothFieldsIsOne() {
        #expect(
            Self.digests(200, ("Repr-Digest", Self.sha256), ("Content-Digest", Self.sha256))
                == ["sha-256 \(Self.sha256Hex)"]
        )
    }

    @Test func fieldsThatContradictEachOtherBothCount() {
        #expect(
            Self.digests(200, ("Repr-Digest", Self.crc32c), ("Content-Digest", "crc32c=:AAAAAA==:"))
                == ["crc32c 43794720", "crc32c 00000000"]
        )
    }

    @Test func aContentEncodingChangesNothing() {
        #expect(
            Self.digests(200, ("Content-Encoding", "gzip"), ("Repr-Digest", Self.crc32c))
                == ["crc32c 43794720"]
        )
    }

    @Test func linesOfOneNameAreOneField() {
        #expect(
            Self.digests(200, ("repr-digest", Self.crc32c), ("REPR-DIGEST", Self.sha256))
                == ["sha-256 \(Self.sha256Hex)"]
        )
        // A malformed line makes the others invalid with it.
        #expect(
            Self.digests(200, ("Repr-Digest", Self.sha256), ("Repr-Digest", "md5")).isEmpty
        )
    }

    @Test func otherFieldsAreNotDigests() {
        #expect(
            Self.digests(
                200,
                ("Digest", Self.sha256),
                ("Repr-Digest2", Self.sha256),
                ("Repr_Digest", Self.sha256),
                ("Want-Repr-Digest", "sha-256=10"),
                // The Kelvin sign folds to k in Unicode, a long s to s.
                ("Repr-Dige\u{17F}t", Self.sha256)
            ).isEmpty
        )
    }

    @Test func namesTheFieldsThatItHasToIgnore() {
        func malformed(_ status: Int, _ headers: (name: String, value: String)...) -> [String] {
            DigestFields.malformed(status: status, headers: headers)
        }
        let both = ["Repr-Digest", "Content-Digest"]
        #expect(malformed(200, ("repr-digest", "garbage"), ("Content-Digest", "md5=1")) == both)
        #expect(malformed(206, ("Repr-Digest", "md5=:AA==:"), ("Content-Digest", "x")) == [both[0]])
        #expect(malformed(404, ("Repr-Digest", "garbage")).isEmpty)
        #expect(malformed(200).isEmpty)
        #expect(malformed(200, ("Repr-Digest", "\(Self.unknown), \(Self.crc32c)")).isEmpty)
    }

    @Test func aMalformedFieldDoesNotSpoilTheOther() {
        #expect(
            Self.digests(200, ("Repr-Digest", "garbage"), ("Content-Digest", Self.crc32c))
                == ["crc32c 43794720"]
        )
    }

    @Test(arguments: [
        "crc32c=:Q3lHIA==:", "  crc32c=:Q3lHIA==:  ", "sha=:AA==:\t , \t crc32c=:Q3lHIA==:",
        // Padding may be missing and its bits may be anything (RFC 9651, section 4.2.7).
        "crc32c=:Q3lHIA:", "crc32c=:Q3lHIB==:",
        // Of equal keys the last counts.
        "crc32c=:AAAAAA==:, crc32c=:Q3lHIA==:",
        // RFC 9530 has no parameters yet; RFC 9651 requires that they are parsed.
        "crc32c=:Q3lHIA==:;a",
        "crc32c=:Q3lHIA==:; a=1;b=-1.5;c=\"x\\\"y\";d=t:/;*=?1;e=:AA==:;f=@1"
            + ", sha=:AA==:",
        "*a_-.*0=:AA==:,crc32c=:Q3lHIA==:", "sha=::, crc32c=:Q3lHIA==:",
    ])
    func readsWhatIsWellFormed(value: String) {
        #expect(Self.digests(value) == ["crc32c 43794720"])
    }

    @Test(arguments: [
        "", " ", "crc32c", "crc32c=", "crc32c=Q3lHIA==", "crc32c=:Q3lHIA==", "crc32c=Q3lHIA==:",
        "crc32c=1128875808", "crc32c=\"Q3lHIA==\"", "crc32c=?1", "crc32c=(:Q3lHIA==:)",
        "crc32c= :Q3lHIA==:", "crc32c =:Q3lHIA==:", "CRC32C=:Q3lHIA==:", "Crc32c=:Q3lHIA==:",
        "crc32c=:Q3lHIA==:,", ",crc32c=:Q3lHIA==:", "crc32c=:Q3lHIA==:,,sha=:AA==:",
        "crc32c=:Q3lHIA==: sha=:AA==:", "crc32c=:Q3lHIA==:;", "crc32c=:Q3lHIA==:;A=1",
        "crc32c=:Q3lHIA==: ;a=1",
        "\tcrc32c=:Q3lHIA==:", "crc32c=:Q3lHIA==:\0", "crc32c=:Q3lHIA==:\r\n",
        "crc32c=:Q3lH IA==:", "crc32c=:Q3lHI-==:", "crc32c=:Q3lHIA=:", "crc32c=:Q3lHIA===:",
        "crc32c=:Q3=lHIA=:", "crc32c=:Q3lHI:", "crc32c=:Q3lHIA==:, sha=:A:", "crc32c=:====:",
        "crc32c=:Q3lHIA==\u{301}:",
        "crc32c=:Q3lHIA==:, sha", "crc32c=:Q3lHIA==:, sha=1", "crc32c=:Q3lHIA==:, 1=:AA==:",
        // Digests with a length that the algorithm does not produce.
        "crc32c=::", "crc32c=:Q3lH:", "crc32c=:Q3lHIAA=:", "crc32c=:Q3lHIA==:, md5=:AA==:",
        "crc32c=:Q3lHIA==:;a=", "crc32c=:Q3lHIA==:;a=?2", "crc32c=:Q3lHIA==:;a=\"",
        "crc32c=:Q3lHIA==:;a=\"\\n\"", "crc32c=:Q3lHIA==:;a=1.", "crc32c=:Q3lHIA==:;a=@1.0",
        "crc32c=:Q3lHIA==:;a=1234567890123456", "crc32c=:Q3lHIA==:;a=1.1234",
        "crc32c=:Q3lHIA==:;a=-", "crc32c=:Q3lHIA==:;a=é",
    ])
    func ignoresAMalformedFieldAltogether(value: String) {
        #expect(Self.digests(value).isEmpty)
    }

    /// The parser would take seconds for some tens of thousands of members.
    @Test func ignoresALongField() {
        func value(members: Int) -> String {
            (0..<members).map { "a\($0)=:AA==:, " }.joined() + "crc32c=:Q3lHIA==:"
        }
        #expect(Self.digests(value(members: 300)) == ["crc32c 43794720"])
        #expect(Self.digests(value(members: 500)).isEmpty)
    }
}
