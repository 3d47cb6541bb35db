import Foundation

/// The demo's request: 24 downloads of many sizes, one of them of a file that does not exist.
struct Batch: Sendable {
    /// One download, and its expected result.
    struct Item: Sendable {
        let url: String
        let clientString: String
        let expectation: Expectation
    }

    enum Expectation: Sendable {
        case content(PseudoRandomFile)
        /// A file that the demo did not make: only its length can be compared.
        case anyContent
        /// A failure with this HTTP status.
        case status(Int)
    }

    let items: [Item]
    /// The statement about contents whose comparison succeeded.
    let comparison: String

    /// Texts that careless software changes.
    ///
    /// They have escapes, separators, directions, zero bytes, and letters that look the same in two
    /// encodings; the last is as long as allowed.
    private static let oddStrings = [
        "photos/2026/0001.jpg", "#?///?#", "\"quoted\\\" and \\u0041", "line\nfeed\ttab\r\n",
        "zero\u{0}byte", "caf\u{E9}", "cafe\u{301}", "👩‍👩‍👧‍👦🏳️‍🌈", "\u{202E}right to left",
        "שלום", "'; DROP TABLE task; --", "<script>alert(1)</script>", " blanks around ", "",
        "{\"json\": [1, null]}", "%00%2F..%2F", "\u{FEFF}mark", "\u{10FFFF}",
        String(repeating: "ü", count: 32 * 1024),
    ]

    private static let kibibyte = 1024
    private static let mebibyte = 1024 * 1024

    /// The sizes of 23 files, around every boundary that a copy in pieces could get wrong.
    private static let sizes: [Int] =
        [256 * mebibyte, 64 * mebibyte, 32 * mebibyte, 16 * mebibyte, 8 * mebibyte]
        + [0, 1, 100, kibibyte, 16 * kibibyte, 16 * kibibyte + 1, 128 * kibibyte, 999_999]
        + (1...10).map { $0 * 300_007 }

    /// Returns a batch of the demo's own files on `origin`.
    static func ofOwnFiles(origin: String) -> Batch {
        var items = sizes.enumerated().map { index, size in
            let file = PseudoRandomFile(seed: UInt64(index + 1), byteCount: size)
            return Item(
                url: origin + Origin.path(of: file),
                clientString: clientString(index),
                expectation: .content(file)
            )
        }
        let missing = Item(
            url: "\(origin)/missing",
            clientString: clientString(items.count),
            expectation: .status(404)
        )
        items.insert(missing, at: items.count / 2)
        return Batch(items: items, comparison: "the origin's, by SHA-256")
    }

    /// Returns a batch of the file behind `url` alone.
    static func of(url: String) -> Batch {
        Batch(
            items: [Item(url: url, clientString: url, expectation: .anyContent)],
            comparison: "as long as what was received"
        )
    }

    private static func clientString(_ index: Int) -> String {
        index < oddStrings.count ? oddStrings[index] : "file number \(index + 1)"
    }
}
