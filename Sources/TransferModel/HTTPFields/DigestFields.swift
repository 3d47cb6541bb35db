/// A reader of the fields that give the checksum of the whole file: `Repr-Digest` and
/// `Content-Digest` (RFC 9530).
///
/// `Repr-Digest` covers the selected representation, all of it even in a 206. `Content-Digest`
/// covers the content of its own message, so it says something about the file only in a 200.
///
/// A `Content-Encoding` changes nothing: the representation is the result of the encoding
/// (RFC 9110, section 8.1), we ask for none, and a body that a server encodes unasked is stored as
/// it arrives (RFC 9530, appendix B.4). These checksums do not apply to a decoded body.
package enum DigestFields {
    /// Returns the checksums that the whole file must have, all of the strongest known algorithm
    /// that the response names.
    ///
    /// There is more than one only when the fields contradict each other; then no file is right.
    /// There is none when the response says nothing usable, or has any status but 200 and 206.
    /// Unknown algorithms are skipped. A malformed field is ignored altogether, as RFC 9651,
    /// section 4.2 demands: its meaning would be a guess, and a wrong guess would fail an intact
    /// file.
    package static func checksums(
        status: Int,
        headers: [(name: String, value: String)]
    ) -> [Checksum] {
        var fields: [[Checksum]] = []
        if status == 200 || status == 206 { fields.append(digests("repr-digest", in: headers)) }
        if status == 200 { fields.append(digests("content-digest", in: headers)) }
        let all = fields.joined()
        guard let strongest = all.map(\.algorithm).max() else { return [] }
        return all.filter { $0.algorithm == strongest }.reduce(into: []) { unique, checksum in
            if !unique.contains(checksum) { unique.append(checksum) }
        }
    }

    /// Returns the names of the fields that ``checksums(status:headers:)`` has to ignore.
    ///
    /// They are no Dictionary of Byte Sequences, or have a digest whose length is not that of its
    /// algorithm, which is known.
    package static func malformed(
        status: Int,
        headers: [(name: String, value: String)]
    ) -> [String] {
        var names: [String] = []
        if status == 200 || status == 206, isMalformed("repr-digest", in: headers) {
            names.append("Repr-Digest")
        }
        if status == 200, isMalformed("content-digest", in: headers) {
            names.append("Content-Digest")
        }
        return names
    }

    private static func isMalformed(
        _ name: String,
        in headers: [(name: String, value: String)]
    ) -> Bool {
        (try? readDigests(name, in: headers)) == nil
    }

    /// Returns the digests of known algorithms in the field of that lower-case name; none in a
    /// malformed one.
    private static func digests(
        _ name: String,
        in headers: [(name: String, value: String)]
    ) -> [Checksum] {
        (try? readDigests(name, in: headers)) ?? []
    }

    private static func readDigests(
        _ name: String,
        in headers: [(name: String, value: String)]
    ) throws(ByteSequenceDictionary.Malformed) -> [Checksum] {
        // Several lines of one name are one value, as if separated by commas (RFC 9110, section
        // 5.3).
        let lines = headers.filter { $0.name.isLowercasedASCII(name) }
        // Nearly no response has the field, and the parser takes long to find nothing.
        guard !lines.isEmpty else { return [] }
        let value = lines.map { Array($0.value.utf8) }.joined(separator: ", ".utf8)
        let members = try ByteSequenceDictionary.members(of: value)
        var checksums: [Checksum] = []
        for algorithm in ChecksumAlgorithm.allCases {
            guard let bytes = members[algorithm.rawValue] else { continue }
            // A digest of the wrong length is useless: its sender does not know what it says.
            guard let checksum = Checksum(algorithm, bytes: bytes) else {
                throw ByteSequenceDictionary.Malformed()
            }
            checksums.append(checksum)
        }
        return checksums
    }
}

extension String {
    /// Compares bytes, folding only A to Z.
    fileprivate func isLowercasedASCII(_ other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { mine, their in
                mine == their || ((0x41...0x5A).contains(mine) && mine | 0x20 == their)
            }
    }
}
