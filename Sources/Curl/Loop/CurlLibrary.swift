import CCurl

/// The version and the capabilities of the linked libcurl.
package struct CurlLibrary: Sendable {
    /// Three numbers that compare as versions: 8.10.0 is newer than 8.9.1.
    package struct Version: Sendable, Hashable, Comparable {
        /// The number that changes when the interface does.
        package let major: Int
        /// The number that changes with each release.
        package let minor: Int
        /// The number that changes with corrections of a release.
        package let patch: Int

        /// Creates a version.
        package init(_ major: Int, _ minor: Int, _ patch: Int) {
            (self.major, self.minor, self.patch) = (major, minor, patch)
        }

        /// Reads `version_num` of curl_version_info(3): eight bits for each number.
        init(packed number: UInt32) {
            self.init(Int(number >> 16 & 0xFF), Int(number >> 8 & 0xFF), Int(number & 0xFF))
        }

        /// Compares the first number that differs.
        package static func < (left: Version, right: Version) -> Bool {
            (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
        }
    }

    /// The version as numbers, for example 7.88.1; 0.0.0 when the library does not tell it.
    package let number: Version
    /// The version as text, for example `7.88.1`.
    package let version: String
    /// The TLS library, for example `OpenSSL/3.0.19`, or nil without one.
    package let tlsVersion: String?
    /// The names of its features, such as `HTTP2`, `AsynchDNS` and `threadsafe`.
    package let features: [String]

    /// Whether the library supports HTTP/2 at all.
    package var hasHTTP2: Bool { features.contains("HTTP2") }

    /// Whether HTTP/2 bodies are reliable: never truncated unnoticed, and safe to pause.
    ///
    /// The fixes came with 8.0.0 (48cd032623, 544a7f804d) and 8.1.0 (5622e431ed); what these broke
    /// in turn was fixed by 8.2.0. A version that a distribution has patched counts as the version
    /// that it reports.
    package var isHTTP2Sound: Bool { Self.isHTTP2Sound(number) }

    /// Returns whether HTTP/2 bodies are reliable in a version.
    static func isHTTP2Sound(_ version: Version) -> Bool { version >= Version(8, 2, 0) }

    /// Whether libcurl's process-wide initialisation, done on first use, has succeeded.
    static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Asks the library.
    init() {
        guard let info = unsafe curl_version_info(CURLVERSION_ELEVENTH) else {
            number = Version(0, 0, 0)
            (version, tlsVersion, features) = ("", nil, [])
            return
        }
        number = unsafe Version(packed: info.pointee.version_num)
        version = unsafe Self.text(info.pointee.version) ?? ""
        tlsVersion = unsafe Self.text(info.pointee.ssl_version)
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
