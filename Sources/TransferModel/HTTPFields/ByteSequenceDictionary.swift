import Foundation
import RawStructuredFieldValues

/// A field whose value is a Dictionary of Byte Sequences (RFC 9651, section 3.2).
enum ByteSequenceDictionary {
    /// An error for a value that is no such Dictionary and has to be ignored (RFC 9651, section
    /// 4.2).
    struct Malformed: Error {}

    /// The maximum number of bytes of a value that is read; digests of all registered algorithms
    /// have 500.
    ///
    /// The parser takes a time that grows with the square of its members.
    static let bytesMax = 4096

    /// Returns the members of a field value, without their parameters; of equal keys the last
    /// counts.
    static func members(
        of value: some Sequence<UInt8>
    ) throws(Malformed) -> [String: [UInt8]] {
        let value = Array(value)
        guard value.count <= bytesMax else { throw Malformed() }
        do {
            var parser = StructuredFieldValueParser(value)
            var members: [String: [UInt8]] = [:]
            for (key, member) in try parser.parseDictionaryFieldValue() {
                guard case .item(let item) = member,
                    case .undecodedByteSequence(let text) = item.rfc9651BareItem,
                    let bytes = bytes(of: text)
                else { throw Malformed() }
                members[key] = bytes
            }
            return members
        } catch {
            throw Malformed()
        }
    }

    /// Returns the bytes that Base64 text stands for; its padding may be missing, but must not be
    /// partial (RFC 9651, section 4.2.7).
    private static func bytes(of text: String) -> [UInt8]? {
        let digits = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.count
        let padding = text.utf8.count - digits
        guard padding == 0 || text.utf8.count % 4 == 0 else { return nil }
        let missing = padding == 0 ? (4 - digits % 4) % 4 : 0
        return Data(base64Encoded: text + String(repeating: "=", count: missing)).map(Array.init)
    }
}
