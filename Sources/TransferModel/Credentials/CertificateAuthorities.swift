import Foundation

/// Certificates of authorities trusted to vouch for servers, as PEM (RFC 7468).
package struct CertificateAuthorities: Equatable, Sendable {
    /// The text as it was given.
    package let pem: [UInt8]

    /// The longest text, in bytes: some dozens of certificates.
    package static let bytesMax = 64 * 1024
    /// The rule for a text of certificates, in words.
    package static let rule =
        "Must be certificates in PEM and nothing else, at most \(bytesMax) bytes."

    private static let begin = Array("-----BEGIN CERTIFICATE-----".utf8)
    private static let end = Array("-----END CERTIFICATE-----".utf8)

    /// - Returns: nil for a text that is too long, has no certificate or a broken one, or has
    ///   anything but certificates, such as a key that nobody meant to hand over.
    package init?(pem: [UInt8]) {
        guard pem.count <= Self.bytesMax else { return nil }
        var isEmpty = true
        var certificate: [UInt8]?
        for line in pem.split(separator: UInt8(ascii: "\n")) {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if line.elementsEqual(Self.begin), certificate == nil {
                certificate = []
            } else if line.elementsEqual(Self.end), let base64 = certificate {
                guard let bytes = Data(base64Encoded: Data(base64)), Self.isCertificate(bytes)
                else { return nil }
                isEmpty = false
                certificate = nil
            } else if line.starts(with: "-----".utf8) {
                return nil
            } else {
                // Text outside certificates is explanatory.
                certificate? += line
            }
        }
        guard !isEmpty, certificate == nil else { return nil }
        self.pem = pem
    }

    /// Restores a value from the database.
    package init(stored pem: [UInt8]) { self.pem = pem }

    /// The number of certificates in the text, at least one.
    package var count: Int {
        pem.split(separator: UInt8(ascii: "\n")).count { $0.starts(with: Self.begin) }
    }

    /// Whether `bytes` have the outer form of a certificate (RFC 5280 §4.1): one sequence that
    /// spans them all and begins with another.
    private static func isCertificate(_ bytes: Data) -> Bool {
        guard let outer = contents(ofSequence: bytes), outer.isWhole,
            let inner = contents(ofSequence: outer.bytes)
        else { return false }
        return !inner.bytes.isEmpty && !inner.isWhole
    }

    /// Returns the contents of the sequence at the start of `bytes`, and whether nothing follows it
    /// (X.690 §8.1).
    private static func contents(ofSequence bytes: Data) -> (bytes: Data, isWhole: Bool)? {
        let bytes = Array(bytes)
        guard bytes.count >= 2, bytes[0] == 0x30 else { return nil }
        var start = 2
        var length = Int(bytes[1])
        if length > 0x80 {
            let digits = length - 0x80
            guard digits <= 3, bytes.count >= 2 + digits else { return nil }
            start += digits
            length = bytes[2..<start].reduce(0) { $0 << 8 | Int($1) }
        } else if length == 0x80 {
            return nil
        }
        guard start + length <= bytes.count else { return nil }
        return (Data(bytes[start..<start + length]), start + length == bytes.count)
    }
}
