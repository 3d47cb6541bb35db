import Foundation

extension TransferService {
    /// The ports that a connection can be made to.
    private static let ports = 1...65_535
    /// The bytes that a key has: those of ASCII that can be seen.
    private static let keyBytes = UInt8(ascii: "!")...UInt8(ascii: "~")

    /// Checks whether requests can be sent to a URL.
    ///
    /// - Parameter url: the URL as ``init(url:apiKey:client:transport:)`` takes it.
    /// - Throws: ``TransferError`` with the code `misconfigured` unless it starts with `http://` or
    ///   `https://`, names a host and perhaps a port from 1 to 65535, and has no user, query or
    ///   fragment.
    public static func check(url: String) throws(TransferError) {
        guard isUsable(url) else {
            throw TransferError(
                .misconfigured,
                "The URL of a service starts with http:// or https:// and names a host; a port is "
                    + "from 1 to 65535, and there is no user, query or fragment."
            )
        }
    }

    /// Checks whether a key can be sent.
    ///
    /// - Parameter apiKey: the key.
    /// - Throws: ``TransferError`` with the code `misconfigured`, and nothing of the key, unless it
    ///   has visible characters of ASCII alone.
    public static func check(apiKey: String) throws(TransferError) {
        guard !apiKey.isEmpty, apiKey.utf8.allSatisfy({ keyBytes.contains($0) }) else {
            throw TransferError(
                .misconfigured,
                "The API key is empty or has characters that no key has, such as the end of a line."
            )
        }
    }

    private static func isUsable(_ text: String) -> Bool {
        guard let url = URLComponents(string: text),
            let scheme = url.scheme, ["http", "https"].contains(scheme.lowercased()),
            url.host?.isEmpty == false
        else { return false }
        // A port of too many digits has a place in the text, but no value.
        if url.rangeOfPort != nil {
            guard let port = url.port, ports.contains(port) else { return false }
        }
        return url.user == nil && url.password == nil && url.query == nil && url.fragment == nil
    }
}
