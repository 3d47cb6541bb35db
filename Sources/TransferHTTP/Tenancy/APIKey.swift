import Crypto

/// A tenant's credential: `tdk_<id>_<secret>_<crc32>`.
///
/// The identifier finds the row, the secret proves the right to it, and the checksum refuses
/// mistyped keys without asking the database and lets scanners find leaked keys.
package struct APIKey: Sendable, CustomStringConvertible {
    /// The maximum length of the identifier.
    package static let idLengthMax = 16
    private static let idLength = 12
    private static let secretByteCount = 32
    private static let prefix = "tdk"
    private static let alphabet = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    )

    /// The public identifier, which names the key in the database and in logs.
    package let id: String
    /// The hexadecimal digits of the secret.
    private let secret: [UInt8]

    /// Generates a new key from the system's random source.
    package static func generate() -> APIKey {
        var generator = SystemRandomNumberGenerator()
        let id = (0..<idLength).map { _ in
            alphabet[Int.random(in: alphabet.indices, using: &generator)]
        }
        let secret = (0..<secretByteCount).map { _ in generator.next() as UInt8 }
        return APIKey(
            id: String(decoding: id, as: UTF8.self),
            secret: hexadecimal(secret)
        )
    }

    private init(id: String, secret: [UInt8]) {
        self.id = id
        self.secret = secret
    }

    /// Reads a key that a client sent.
    ///
    /// - Returns: nil when it has another form or its checksum is wrong.
    package init?(_ text: String) { self.init(bytes: Array(text.utf8)) }

    /// Reads the bytes of a key that a client sent.
    ///
    /// - Returns: nil when it has another form or its checksum is wrong.
    init?(bytes: [UInt8]) {
        let parts = bytes.split(
            separator: UInt8(ascii: "_"),
            maxSplits: 4,
            omittingEmptySubsequences: false
        )
        guard parts.count == 4, parts[0].elementsEqual(Self.prefix.utf8),
            Self.isID(parts[1]),
            parts[2].count == 2 * Self.secretByteCount,
            parts[2].allSatisfy(Self.isAlphanumeric),
            parts[3].elementsEqual(Self.checksum(of: bytes[..<parts[2].endIndex]))
        else { return nil }
        id = String(decoding: parts[1], as: UTF8.self)
        secret = Array(parts[2])
    }

    /// Returns whether `text` has the form of an identifier.
    static func isID(_ text: some Collection<UInt8>) -> Bool {
        (1...idLengthMax).contains(text.count) && text.allSatisfy(isAlphanumeric)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// The whole key, which is shown once, when it is made.
    package var serialized: String {
        let unchecked = Array("\(Self.prefix)_\(id)_".utf8) + secret
        let checked = unchecked + "_".utf8 + Self.checksum(of: unchecked)
        return String(decoding: checked, as: UTF8.self)
    }

    /// The SHA-256 of the secret, which is all that the database keeps of it.
    ///
    /// A secret of 256 random bits cannot be guessed, so a plain hash suffices.
    package var secretSHA256: [UInt8] { Array(SHA256.hash(data: secret)) }

    /// The key without its secret.
    package var description: String { "\(Self.prefix)_\(id)_***" }

    /// Returns the hexadecimal digits of the checksum.
    private static func checksum(of bytes: some Sequence<UInt8>) -> [UInt8] {
        let crc = CRC32.checksum(bytes)
        return hexadecimal((0..<4).map { UInt8(truncatingIfNeeded: crc >> (24 - 8 * $0)) })
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> [UInt8] {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return digits
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }
}
