import Curl

/// The fields in which an origin tells of an upload.
extension ResponseHead {
    /// The number of bytes that the origin has, by `Upload-Offset`; nil for none, and for a value
    /// that is no length.
    var uploadOffset: Int64? { self["Upload-Offset"].flatMap(Self.length) }

    /// The length of the whole body, by `Upload-Length`.
    var uploadLength: Int64? { self["Upload-Length"].flatMap(Self.length) }

    /// Whether the origin has the whole body, by `Upload-Complete`, a boolean of RFC 9651 §3.3.6;
    /// nil for no such value.
    var isUploadComplete: Bool? {
        switch self["Upload-Complete"] {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// The number of bytes that a 308 says are there, by `Range: bytes=0-42`; 0 without the field,
    /// nil for another value.
    var rangeUploaded: Int64? {
        guard let field = self["Range"] else { return 0 }
        guard field.hasPrefix("bytes=0-"), let last = Self.length(String(field.dropFirst(8))),
            last < .max
        else { return nil }
        return last + 1
    }

    /// Whether the answer only leads to another place (RFC 9110 §15.4).
    var isRedirect: Bool {
        [301, 302, 303, 307, 308].contains(status) && location != nil
    }

    private static func length(_ text: String) -> Int64? {
        guard (1...18).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(text)
    }
}
