/// The cookies that responses have set, for later requests to the hosts they belong to.
///
/// libcurl reads and matches them (RFC 6265), by host, path and `Secure`; a name of which hosts of
/// several owners are part, such as `co.uk`, gets none (https://publicsuffix.org). They are in
/// memory only, and at most what the heads of a chain of responses can hold: see
/// ``CurlRequest/headerBytesMax``.
package struct CookieJar: Sendable {
    /// The cookies as libcurl writes and reads them (CURLINFO_COOKIELIST(3)).
    let lines: [String]

    init(lines: [String]) { self.lines = lines }

    /// Creates a jar without cookies.
    package init() { lines = [] }
}

extension CookieJar: CustomStringConvertible {
    /// The number of cookies, and neither a name nor a value.
    package var description: String { "\(lines.count) cookies" }
}
