import Crypto
import Foundation

/// Entity tags (RFC 9110 §8.8.3).
enum EntityTag {
    /// Returns the strong tag of a document: the revision that changes apply to, and a digest of
    /// its bytes, which also change with progress.
    static func tag(revision: Int32, of body: [UInt8]) -> String {
        let digest = SHA256.hash(data: body).prefix(12)
        return "\"\(revision).\(Data(digest).base64EncodedString())\""
    }

    /// Returns the revision in a tag that ``tag(revision:of:)`` has made; nil for any other.
    static func revision(in tag: some StringProtocol) -> Int32? {
        guard tag.utf8.first == UInt8(ascii: "\""), let end = tag.firstIndex(of: ".") else {
            return nil
        }
        return Int32(tag[tag.index(after: tag.startIndex)..<end])
    }

    /// Whether an `If-None-Match` field lists the tag, compared weakly (RFC 9110 §13.1.2).
    static func lists(_ field: String, _ etag: String) -> Bool {
        field.split(separator: ",").map(\.trimmed).contains { tag in
            tag == "*" || tag == etag || tag == "W/\(etag)"
        }
    }
}
