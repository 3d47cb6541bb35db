/// The status line and header fields of a response.
package struct ResponseHead: Sendable {
    /// The status code, 100 to 999; 101 is refused.
    package let status: Int
    /// The HTTP version from the status line, for example `1.1` or `2`.
    package let httpVersion: String
    /// The fields in order of arrival; values that are not UTF-8 are read as Latin-1, but a
    /// `Location` has such bytes escaped.
    package let headers: [(name: String, value: String)]
    /// The announced length of the body; nil when there is none or a transfer coding applies.
    package let contentLength: Int64?

    /// Creates a head from its parts, for tests and for replies that did not come over a wire.
    package init(
        status: Int,
        httpVersion: String = "1.1",
        headers: [(name: String, value: String)] = [],
        contentLength: Int64? = nil
    ) {
        self.status = status
        self.httpVersion = httpVersion
        self.headers = headers
        self.contentLength = contentLength
    }

    /// The value of the first field with that name, compared without regard to ASCII case.
    package subscript(name: String) -> String? {
        headers.first { $0.name.isEqualIgnoringASCIICase(to: name) }?.value
    }

    /// Whether the body ends with its last chunk rather than with a count or the connection.
    var isChunked: Bool {
        self["Transfer-Encoding"]?.isEqualIgnoringASCIICase(to: "chunked") ?? false
    }
}

extension String {
    /// Compares bytes, folding only A to Z: header names are ASCII and never need Unicode rules.
    func isEqualIgnoringASCIICase(to other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { left, right in
                left == right || (left.asciiLowercased == right.asciiLowercased)
            }
    }
}

extension UInt8 {
    fileprivate var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
