/// Scheme, host and port: what a credential is shown to (RFC 6454 §4).
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// As `https://files.example:443`, in lower case and always with the port.
    package let description: String

    /// Host names are compared as ASCII, without regard to case.
    package init(scheme: String, host: String, port: Int) {
        let host = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        description = "\(scheme.lowercased())://\(host.lowercased()):\(port)"
    }

    /// As `files.example:443`.
    package var hostAndPort: String {
        description.split(separator: "//", maxSplits: 1).last.map(String.init) ?? description
    }

    /// What the store keeps.
    package init(stored text: String) { description = text }
}
