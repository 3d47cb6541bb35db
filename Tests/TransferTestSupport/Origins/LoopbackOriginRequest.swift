/// A request as it reached an origin.
package struct OriginRequest: Sendable {
    /// The number of the request among all requests of the origin, from 1.
    package let number: Int
    /// The number of the request among those for its path, from 1.
    ///
    /// With it, no responder has to ask its origin, which holds the responder.
    package internal(set) var numberAtPath = 0
    /// The number of the request's connection among all of the origin, from 1.
    package let connection: Int
    /// The method as sent.
    package let method: String
    /// The request target as sent.
    package let target: String
    /// The header fields in order.
    package let headers: [(name: String, value: String)]
    /// The body, up to ``bodyKeptMax`` bytes.
    package internal(set) var body: [UInt8] = []
    /// The number of bytes in the body.
    package internal(set) var bodyCount = 0

    /// The maximum number of bytes kept of a body; longer bodies are counted but not kept.
    package static let bodyKeptMax = 1 << 20

    /// The target without its query.
    package var path: String { String(target.prefix { $0 != "?" }) }

    /// Returns the value of the first field of that name.
    package subscript(name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Parses a request line and fields; nil when they are invalid.
    init?(number: Int, connection: Int, head: [UInt8]) {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        guard let parts = lines.first?.split(separator: " "), parts.count == 3 else { return nil }
        self.number = number
        self.connection = connection
        method = String(parts[0])
        target = String(parts[1])
        headers = lines.dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return (String(line[..<colon]), String(value))
        }
    }

    /// Returns the requested part of a file.
    ///
    /// It is the whole file unless `Range` and `If-Range` say less, and nil when the range lies
    /// behind the end.
    func range(of count: Int, etag: String) -> Range<Int>? {
        guard let range = self["Range"], range.hasPrefix("bytes="),
            self["If-Range"].map({ $0 == etag }) ?? true
        else { return 0..<count }
        let bounds = range.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, let first = Int(bounds[0]) else { return 0..<count }
        let last = min(Int(bounds[1]) ?? count - 1, count - 1)
        return first <= last ? first..<(last + 1) : nil
    }
}
