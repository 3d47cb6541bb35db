/// Collects the header lines of one transfer, within limits, into the heads of its responses.
///
/// A pure state machine: a line goes in, a step comes out. Trailers count towards the limits
/// together with the final head, and each informational head by itself: an origin may tell of its
/// progress as often as it likes while a long body is sent.
struct HeadParser {
    /// The result of a line.
    enum Step {
        /// Nothing to report yet.
        case more
        /// The head of an informational response is complete; others follow.
        case informational(ResponseHead)
        /// The final response's head is complete.
        case head(ResponseHead)
        /// The response is not acceptable HTTP, or exceeds a limit.
        case rejected
    }

    private enum State {
        /// Before the status line of the first or next response.
        case idle
        /// Within a head; its status line has been read.
        case fields(status: Int, version: String)
        /// After the final head: only trailers can follow.
        case done
    }

    /// Whether the status line of the final response has been read.
    var hasFinalStatus: Bool {
        switch state {
        case .idle: false
        case .fields(let status, _): status >= 200
        case .done: true
        }
    }

    /// The most bytes of all informational heads together; libcurl since 8.3, as Debian's 7.88,
    /// takes 300 KiB of heads.
    static let informationalBytesMax = 256 * 1024

    private let bytesMax: Int
    private let linesMax: Int
    private var state = State.idle
    private var informationalBytes = 0
    private var bytes = 0
    private var lines = 0
    private var headers: [(name: String, value: String)] = []

    /// Creates a parser that is before the first line.
    init(bytesMax: Int, linesMax: Int) {
        self.bytesMax = bytesMax
        self.linesMax = linesMax
    }

    /// Counts and reads one line, with or without its line ending.
    mutating func consume(_ line: UnsafeRawBufferPointer) -> Step {
        bytes += line.count
        lines += 1
        guard bytes <= bytesMax, lines <= linesMax else { return .rejected }
        let text = Self.trimmingLineEnd(unsafe Array(line))
        switch state {
        case .idle:
            guard let start = StatusLine(text) else { return .rejected }
            state = .fields(status: start.status, version: start.version)
            return .more
        case .fields(let status, let version):
            if text.isEmpty { return endHead(status: status, version: version) }
            return readField(text) ? .more : .rejected
        case .done:
            return .more
        }
    }

    private mutating func endHead(status: Int, version: String) -> Step {
        defer { headers = [] }
        switch status {
        case 101:
            // No request here ever asks for another protocol.
            return .rejected
        case 100..<200:
            informationalBytes += bytes
            guard informationalBytes <= Self.informationalBytesMax else { return .rejected }
            (bytes, lines) = (0, 0)
            state = .idle
            return .informational(
                ResponseHead(status: status, httpVersion: version, headers: headers)
            )
        default:
            state = .done
            guard case .valid(let length) = ContentLength(headers), hasPlainCoding else {
                return .rejected
            }
            return .head(
                ResponseHead(
                    status: status,
                    httpVersion: version,
                    headers: headers,
                    contentLength: length
                )
            )
        }
    }

    /// Whether the body comes uncoded, in chunks or not.
    ///
    /// No request asks for another transfer coding, and so none may be sent (RFC 9112, section
    /// 7.4); but libcurl decodes those it knows, and a few bytes could become very many.
    private var hasPlainCoding: Bool {
        headers.allSatisfy { name, value in
            !name.isEqualIgnoringASCIICase(to: "Transfer-Encoding")
                || value.isEqualIgnoringASCIICase(to: "chunked")
                || value.isEqualIgnoringASCIICase(to: "identity")
        }
    }

    private mutating func readField(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first else { return false }
        if first == .space || first == .tab {
            return continueField(text)
        }
        guard let colon = text.firstIndex(of: .colon), colon > text.startIndex else { return false }
        guard text[..<colon].allSatisfy(\.isTokenByte) else { return false }
        let name = String(decoding: text[..<colon], as: UTF8.self)
        let value = Self.trimmingBlanks(text[(colon + 1)...])
        guard Self.isSafe(value) else { return false }
        headers.append((name, Self.decode(value, of: name)))
        return true
    }

    /// Joins a folded line to its field with one space (RFC 9112, section 5.2).
    private mutating func continueField(_ text: ArraySlice<UInt8>) -> Bool {
        guard Self.isSafe(text), var last = headers.popLast() else { return false }
        last.value += " " + Self.decode(Self.trimmingBlanks(text), of: last.name)
        headers.append(last)
        return true
    }

    /// Whether a value has none of the bytes that would end it elsewhere, and that a recipient has
    /// to refuse (RFC 9110, section 5.5).
    private static func isSafe(_ value: ArraySlice<UInt8>) -> Bool {
        !value.contains { $0 == .carriageReturn || $0 == .lineFeed || $0 == 0 }
    }

    private static func trimmingLineEnd(_ line: [UInt8]) -> ArraySlice<UInt8> {
        var text = line[...]
        if text.last == .lineFeed { text = text.dropLast() }
        if text.last == .carriageReturn { text = text.dropLast() }
        return text
    }

    private static func trimmingBlanks(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop { $0 == .space || $0 == .tab }
        while let last = text.last, last == .space || last == .tab { text = text.dropLast() }
        return text
    }

    /// The maximum number of bytes of a character; emoji of four people have 25.
    private static let characterBytesMax = 128

    /// Returns the text of a value of the field `name`: as UTF-8, or else as Latin-1.
    ///
    /// UTF-8 that would take seconds to compare is read as Latin-1, too: Swift sorts the marks that
    /// combine with a letter, however many. A URL means its bytes, of which Latin-1 would make
    /// others: those of `Location` are escaped instead.
    private static func decode(_ bytes: ArraySlice<UInt8>, of name: String) -> String {
        // The marks that combine begin with U+0300, whose first byte is 0xCC.
        if let text = String(validating: bytes, as: UTF8.self),
            bytes.allSatisfy({ $0 < 0xCC })
                || text.allSatisfy({ $0.utf8.count <= characterBytesMax })
        {
            return text
        }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
        guard name.isEqualIgnoringASCIICase(to: "Location") else { return String(text) }
        return text.map { scalar in
            scalar.isASCII ? String(scalar) : "%" + String(scalar.value, radix: 16, uppercase: true)
        }.joined()
    }
}

/// A status line such as `HTTP/1.1 200 …` or `HTTP/2 200`.
private struct StatusLine {
    let version: String
    let status: Int

    init?(_ line: ArraySlice<UInt8>) {
        guard line.starts(with: "HTTP/".utf8) else { return nil }
        let parts = line.dropFirst(5).split(
            separator: .space,
            maxSplits: 2,
            omittingEmptySubsequences: false
        )
        guard parts.count >= 2, (1...3).contains(parts[0].count), parts[1].count == 3,
            let status = Int(String(decoding: parts[1], as: UTF8.self)), status >= 100
        else { return nil }
        version = String(decoding: parts[0], as: UTF8.self)
        self.status = status
    }
}
