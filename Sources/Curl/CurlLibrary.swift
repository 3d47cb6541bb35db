import CCurl

/// What the linked libcurl is and can do.
package struct CurlLibrary: Sendable {
    /// For example `7.88.1`.
    package let version: String
    /// The TLS library, for example `OpenSSL/3.0.19`, or nil without one.
    package let tlsVersion: String?
    /// Schemes it was built with; transfers here use `http` and `https` only.
    package let protocols: [String]
    /// Names such as `HTTP2`, `AsynchDNS` and `threadsafe`.
    package let features: [String]

    /// Whether libcurl's process-wide initialisation, done on first use, has succeeded.
    static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Asks the library.
    init() {
        guard let info = unsafe curl_version_info(CURLVERSION_ELEVENTH) else {
            (version, tlsVersion, protocols, features) = ("", nil, [], [])
            return
        }
        version = unsafe Self.text(info.pointee.version) ?? ""
        tlsVersion = unsafe Self.text(info.pointee.ssl_version)
        protocols = unsafe Self.texts(info.pointee.protocols)
        features = unsafe Self.texts(info.pointee.feature_names)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        unsafe pointer.map { unsafe String(cString: $0) }
    }

    private static func texts(_ list: UnsafePointer<UnsafePointer<CChar>?>?) -> [String] {
        guard var next = unsafe list else { return [] }
        var texts: [String] = []
        while let text = unsafe text(next.pointee) {
            texts.append(text)
            unsafe next += 1
        }
        return texts
    }
}

extension CurlLoop {
    /// The library that all loops use.
    package static let libraryVersion = CurlLibrary()
}
