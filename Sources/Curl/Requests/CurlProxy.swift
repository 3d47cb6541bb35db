/// An HTTP proxy, through which a transfer reaches its host in a tunnel (RFC 9110, section 9.3.6).
package struct CurlProxy: Sendable, Hashable {
    /// What the proxy wants to know of those who use it (RFC 7617), which no description shows.
    package struct Credential: Sendable, Hashable {
        let user: String
        let password: String

        /// Reads `user:password`; nil if it has no colon, no user or a control character.
        package init?(_ text: String) {
            guard let colon = text.firstIndex(of: ":"), colon > text.startIndex,
                !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { return nil }
            user = String(text[..<colon])
            password = String(text[text.index(after: colon)...])
        }
    }

    /// Where it listens; only the scheme, the host and the port count.
    let url: CurlURL
    let credential: Credential?

    /// Creates a proxy that is asked over plain HTTP, also for tunnels that carry TLS.
    ///
    /// - Throws: ``CurlError`` with `unsupportedURL` if `url` is no http URL, or has a path or a
    ///   fragment.
    package init(url: String, credential: Credential? = nil) throws(CurlError) {
        let parsed = try CurlURL(url)
        // Normalised, it ends with the slash of an empty path.
        guard parsed.scheme == "http", parsed.absoluteString.hasSuffix("/"),
            parsed.absoluteString.split(separator: "/").count == 2,
            !url.utf8.contains(UInt8(ascii: "#"))
        else { throw CurlError(.unsupportedURL) }
        self.url = parsed
        self.credential = credential
    }

    /// The proxy as libcurl reads it, with the port that libcurl would otherwise take for 1080.
    var address: String { "\(url.scheme)://\(url.host):\(url.port)" }
}

extension CurlProxy.Credential: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// A word in place of the credential.
    package var description: String { "hidden" }

    /// The same word: a debugger's output ends up in logs, too.
    package var debugDescription: String { description }

    /// A mirror without children, so that `dump` and descriptions of owners show no secrets.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
