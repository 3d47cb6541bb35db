/// The fields of a response that are kept with its task: those about the bytes, and those of the
/// origin's own, but not those about the connection, for browsers, or with secrets.
package struct KeptFields: Equatable, Sendable {
    /// The fields in order of arrival, their names in lower case.
    package let fields: [HTTPHeader]

    /// The most fields kept of one response.
    package static let countMax = 64
    /// The most bytes of all names and values together.
    package static let bytesMax = 4096

    /// The fields that are not kept, in lower case.
    static let dropped: Set<String> = [
        // About the connection and the message (RFC 9110 §7.6.1, §6.6), which tell a later reader
        // nothing.
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer",
        "upgrade", "content-length", "content-range", "accept-ranges", "date", "age", "via",
        "server", "alt-svc", "server-timing",
        // For browsers.
        "strict-transport-security", "content-security-policy",
        "content-security-policy-report-only", "permissions-policy", "referrer-policy",
        "x-frame-options", "x-xss-protection", "x-content-type-options", "report-to",
        "reporting-endpoints", "nel", "cross-origin-opener-policy",
        "cross-origin-embedder-policy", "cross-origin-resource-policy",
        // With what is to be shown to the origin alone.
        "set-cookie", "set-cookie2", "www-authenticate", "proxy-authenticate",
        "authentication-info", "proxy-authentication-info",
    ]

    /// The dropped fields that are about the file where no content follows, as after HEAD.
    private static let describing: Set<String> = ["content-length", "accept-ranges"]

    /// Chooses from the fields of a response; those beyond the bounds are not kept, and neither are
    /// values with control characters.
    ///
    /// With `describingContent` the response answers a HEAD, and also tells the length that a GET
    /// would get.
    package init(of headers: [(name: String, value: String)], describingContent: Bool = false) {
        let dropped = describingContent ? Self.dropped.subtracting(Self.describing) : Self.dropped
        var fields: [HTTPHeader] = []
        var room = Self.bytesMax
        for (name, value) in headers where fields.count < Self.countMax {
            let name = name.lowercased()
            guard !dropped.contains(name), Self.isPlain(value) else { continue }
            let bytes = name.utf8.count + value.utf8.count
            guard bytes <= room else { continue }
            room -= bytes
            fields.append(HTTPHeader(name: name, value: value))
        }
        self.fields = fields
    }

    /// Restores fields from the database.
    package init(stored fields: [HTTPHeader]) { self.fields = fields }

    /// The value of the first field of that name, which is in lower case.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    private static func isPlain(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }
    }
}
