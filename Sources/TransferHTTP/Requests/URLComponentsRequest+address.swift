import Foundation
import TransferWire

extension URLComponentsRequest {
    /// Returns the absolute URL of the parts, as Foundation's `URLComponents` makes it.
    ///
    /// No part can extend into another: what is special within a part is escaped, and a scheme or
    /// host that would need escapes is refused. It differs from Foundation in two places:
    /// - `+` in a query item becomes `%2B`. Foundation leaves it, and most servers then read a
    ///   space (the form encoding of the WHATWG URL Standard §5.1), so it would not arrive.
    /// - A host that is not ASCII becomes Punycode (UTS #46), or is refused where Foundation would
    ///   escape it: names have no escapes.
    ///
    /// - Parameters:
    ///   - pointer: where in the body the parts are.
    ///   - errors: what is wrong with them is added here.
    /// - Returns: nil when something is wrong with it.
    func address(
        at pointer: String,
        into errors: inout [FieldError]
    ) -> (text: String, url: WebURL)? {
        let errorsBefore = errors.count
        func refuse(_ place: String, _ detail: String) {
            errors.append(FieldError(pointer: pointer + place, .invalidURL, detail))
        }
        if !["http", "https"].contains(where: { $0.utf8.elementsEqual(scheme.lowercased().utf8) }) {
            refuse("/scheme", "Must be http or https.")
        }
        let isPortValid = port.map { (1...65535).contains($0) } ?? true
        if !isPortValid { refuse("/port", "Must be from 1 to 65535.") }
        let path = path ?? ""
        if let first = path.utf8.first, first != UInt8(ascii: "/") {
            refuse("/path", "Must be empty or begin with a slash.")
        }
        let host = Self.ascii(host)
        let hostText = Self.isBareAddress(host) ? "[\(host)]" : host
        // Parsed on its own: a host that would absorb or add a part of the URL is not valid.
        if WebURL("http://\(hostText)/").map({ "[\($0.host)]" == hostText || $0.host == hostText })
            != true
        {
            refuse("/host", "Must be a name or an IP address, without a port.")
        }
        guard errors.count == errorsBefore else { return nil }
        let portText = port.map { ":\($0)" } ?? ""
        let pathText = PercentEncoding.encode(path, allowing: Self.pathBytes)
        let text = "\(scheme)://\(hostText)\(portText)\(pathText)\(query)"
        guard let url = WebURL(text) else {
            refuse("", "Must make a URL of at most \(WebURL.bytesMax) bytes.")
            return nil
        }
        return (text, url)
    }

    /// Returns the host as it is looked up; a text that is no name stays, and is refused as such.
    private static func ascii(_ host: String) -> String {
        guard !host.utf8.allSatisfy({ $0 < 0x80 }) else { return host }
        var components = URLComponents()
        components.host = host
        return components.encodedHost ?? host
    }

    /// Whether the text is an IPv6 address without brackets, which has at least two colons; a
    /// single colon separates a host and a port that were put into the wrong field.
    private static func isBareAddress(_ host: String) -> Bool {
        host.utf8.first != UInt8(ascii: "[") && host.utf8.count { $0 == UInt8(ascii: ":") } > 1
    }

    /// The query with its question mark, or an empty text when there is no list of items.
    ///
    /// An empty list is an empty query, as in Foundation.
    private var query: String {
        guard let queryItems else { return "" }
        func encoded(_ text: String) -> String {
            PercentEncoding.encode(text, allowing: Self.queryBytes)
        }
        return "?"
            + queryItems.map { item in
                encoded(item.name) + (item.value.map { "=\(encoded($0))" } ?? "")
            }
            .joined(separator: "&")
    }

    /// The bytes that a path may contain besides the unreserved characters (RFC 3986 §3.3).
    private static let pathBytes = Set("!$&'()*+,;=:@/".utf8)
    /// The bytes that a query may contain (RFC 3986 §3.4), except `&` and `=`, which separate its
    /// items, and `+`.
    private static let queryBytes = Set("!$'()*,;:@/?".utf8)
}
