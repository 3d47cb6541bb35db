/// A scheme, host and port to which a credential is shown (RFC 6454 §4).
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// The origin as `https://files.example:443`, in lower case and always with the port.
    package let description: String

    /// Creates an origin; host names are compared as ASCII, without regard to case.
    package init(scheme: String, host: String, port: Int) {
        let host = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        description = "\(scheme.lowercased())://\(host.lowercased()):\(port)"
    }

    /// The host and port as `files.example:443`.
    package var hostAndPort: String {
        description.split(separator: "//", maxSplits: 1).last.map(String.init) ?? description
    }

    /// Restores an origin from its stored text.
    package init(stored text: String) { description = text }
}
