import CCurl
import Foundation

extension EasyHandle {
    /// The numeric options that are the same for every transfer.
    ///
    /// Low-speed limits are left out on purpose: see ``SpeedWatch``.
    static let fixedNumbers: [(option: CURLoption, value: Int)] = [
        // Redirects are followed in a higher layer, which judges each hop again.
        (CURLOPT_FOLLOWLOCATION, 0),
        (CURLOPT_MAXREDIRS, 0),
        (CURLOPT_SSL_VERIFYPEER, 1),
        (CURLOPT_SSL_VERIFYHOST, 2),
        (CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
        (CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue)),
        // Without it, each call changes the process's signal handlers.
        (CURLOPT_NOSIGNAL, 1),
        (CURLOPT_HTTP09_ALLOWED, 0),
        (CURLOPT_DISALLOW_USERNAME_IN_URL, 1),
        (CURLOPT_TCP_NODELAY, 1),
        // Otherwise ending a transfer that still resolves its name would block the loop until the
        // resolver answers (Curl_resolver_kill in 7.88 joins the thread).
        (CURLOPT_QUICK_EXIT, 1),
        (CURLOPT_BUFFERSIZE, receiveBufferBytes),
    ]

    /// The text options that are the same for every transfer.
    static let fixedTexts: [(option: CURLoption, value: String)] = [
        (CURLOPT_PROTOCOLS_STR, "http,https"),
        (CURLOPT_REDIR_PROTOCOLS_STR, "http,https"),
        // An empty text also disables http_proxy and similar variables in the environment.
        (CURLOPT_PROXY, ""),
        // Nor may the environment take a host from the proxy (no_proxy).
        (CURLOPT_NOPROXY, ""),
        // An origin that chooses the group of a Diffie-Hellman exchange, up to 10,000 bits, keeps
        // the thread busy for seconds with each handshake; with a curve, as in TLS 1.3, it cannot.
        (CURLOPT_SSL_CIPHER_LIST, "DEFAULT:!DHE"),
    ]

    /// The size of the buffer that libcurl allocates for a transfer and frees at its end.
    ///
    /// Measured with 7.88, compared with its default of 16 KiB: half the processor time for a large
    /// body, a third less for 16 KiB bodies. 128 KiB is no better, because malloc(3) then maps each
    /// buffer again. Slow transfers touch, and so cost, only the pages that their small reads fill.
    static let receiveBufferBytes = 64 * 1024
    /// The size of the buffer of a transfer whose body is decoded: one call of libcurl may read it
    /// a hundred times, and nobody else has a turn meanwhile.
    ///
    /// What is read may hold many times as much, which piles up where a rate pauses the transfer;
    /// and blocks of deflate that hold nothing cost 100 ns a byte. Measured with 7.88: a call took
    /// up to 0.52 s for those with 64 KiB, and 0.05 s with 4 KiB; texts took the same time with
    /// both.
    static let decodedBufferBytes = 4 * 1024

    /// Sets all options that follow from `request` alone.
    func configure(
        _ request: CurlRequest,
        url: CurlURL,
        certificateFile: String?
    ) throws(CurlError) {
        for (option, value) in Self.fixedNumbers { try set(option, value) }
        for (option, value) in Self.fixedTexts { try set(option, value) }
        try keepErrorText()
        try configure(request.tls, certificateFile: certificateFile)
        try set(CURLOPT_URL, url.absoluteString)
        try set(connectTimeout: request.connectTimeout)
        // Libcurl then decodes whatever comes, offered or not: see ``ResponseHead/isDecodable``.
        if request.decodesBody {
            try set(CURLOPT_ACCEPT_ENCODING, ResponseHead.codingsOffered)
            try set(CURLOPT_BUFFERSIZE, Self.decodedBufferBytes)
        }
        try set(
            CURLOPT_HTTP_VERSION,
            request.offersHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        )
        if !request.isReplayable {
            // Each such request opens a connection: kept, those of a host would only add up.
            try set(CURLOPT_FORBID_REUSE, 1)
        }
        try separate(request)
        if let jar = request.cookies {
            try keep(jar)
            // One field holds these and those of the jar (RFC 6265 §5.4).
            let own = request.headers.filter { Self.isCookie($0.name) }.map(\.value)
            if !own.isEmpty { try set(CURLOPT_COOKIE, own.joined(separator: "; ")) }
        }
        try configureMethod(request)
        try set(CURLOPT_HTTPHEADER, lines: Self.headerLines(request))
    }

    /// Keeps apart the connections of requests that must not be repeated, of those that offer
    /// HTTP/2, and of the others.
    ///
    /// Once a connection to a host speaks HTTP/2, libcurl 7.88 gives a request that offers it any
    /// connection to that host that is in use (`ConnectionExists` in lib/url.c). Over HTTP/1, the
    /// two answers would be mixed. And a connection that was given twice counts as a kept one: when
    /// it breaks, libcurl sends even a POST again. The bits mean nothing to OpenSSL, but a request
    /// gets no connection whose bits are others (`Curl_ssl_config_matches` in lib/vtls/vtls.c).
    private func separate(_ request: CurlRequest) throws(CurlError) {
        let repetition = request.isReplayable ? 0 : CURLSSLOPT_REVOKE_BEST_EFFORT
        let version = request.offersHTTP2 ? 0 : CURLSSLOPT_NO_REVOKE
        try set(CURLOPT_SSL_OPTIONS, Int(repetition | version))
    }

    /// Sends the request through a proxy, in a tunnel whatever its scheme.
    ///
    /// The answer that arrives is then the host's and never the proxy's, and the proxy sees neither
    /// the request nor its header fields.
    func configure(_ route: ProxyRoute, proxyAddresses: [String]) throws(CurlError) {
        let proxy = route.proxy
        try set(CURLOPT_PROXY, proxy.address)
        try set(CURLOPT_HTTPPROXYTUNNEL, 1)
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        if let credential = proxy.credential {
            // libcurl would decode percent signs in both parts (parse_proxy_auth in lib/url.c of
            // 7.88.1), which is not what the operator has written.
            let pair = Data("\(credential.user):\(credential.password)".utf8)
            let field = "Proxy-Authorization: Basic \(pair.base64EncodedString())"
            try set(CURLOPT_PROXYHEADER, lines: [field])
        }
        if let name = proxy.url.nameToResolve {
            try set(addresses: proxyAddresses, of: name, port: proxy.url.port)
        }
        // For any host and port: there is but one (CURLOPT_CONNECT_TO(3)). Kept tunnels serve only
        // requests to the same address.
        let text = route.target.text
        let target = text.contains(":") ? "[\(text)]" : text
        try set(CURLOPT_CONNECT_TO, lines: ["::\(target):\(route.target.port)"])
    }

    /// Limits the time for connecting, also while it runs: libcurl looks at it at each turn.
    func set(connectTimeout: Duration) throws(CurlError) {
        try set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout.curlMilliseconds)
    }

    private func configure(
        _ tls: TLSSettings,
        certificateFile: String?
    ) throws(CurlError) {
        let file = certificateFile ?? string(CURLINFO_CAINFO)
        switch (tls.certificateAuthorities, tls.furtherAuthorities) {
        case (nil, nil):
            if let certificateFile { try set(CURLOPT_CAINFO, certificateFile) }
            // Debian builds libcurl with a file of authorities and the folder it is made from. The
            // folder would be trusted besides our file, and libcurl caches what it has parsed of
            // a file only when there is no folder: measured with 7.88.1, each new connection costs
            // the loop 30 ms with the folder and less than 1 ms without.
            if file != nil { try clear(CURLOPT_CAPATH) }
        case (nil, let further?):
            if certificateFile == nil, string(CURLINFO_CAPATH) != nil {
                // The folder holds the same as the file, and only what a chain names is read of it.
                try set(CURLOPT_CAINFO_BLOB, blob: further)
            } else {
                let system = try file.map { path throws(CurlError) in try Self.bytes(of: path) }
                try set(CURLOPT_CAINFO_BLOB, blob: (system ?? []) + [.lineFeed] + further)
                try clear(CURLOPT_CAPATH)
            }
        case (let authorities?, let further):
            try set(CURLOPT_CAINFO_BLOB, blob: authorities + [.lineFeed] + (further ?? []))
            try clear(CURLOPT_CAPATH)
        }
        if let pem = tls.clientCertificate?.pem {
            try set(CURLOPT_SSLCERT_BLOB, blob: pem)
            try set(CURLOPT_SSLKEY_BLOB, blob: pem)
            // Where a key has a passphrase and none is given, libcurl 7.88 measures a text that is
            // not there, which ends the process.
            try set(CURLOPT_KEYPASSWD, "")
        }
        if tls.minimumVersion == .v1_3 { try set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_3) }
    }

    /// Returns the bytes of a file of authorities, which an operator or the system has put there.
    private static func bytes(of path: String) throws(CurlError) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw CurlError(.authoritiesUnusable)
        }
    }

    private func configureMethod(_ request: CurlRequest) throws(CurlError) {
        if let source = request.bodySource {
            try set(CURLOPT_UPLOAD, 1)
            try set(CURLOPT_INFILESIZE_LARGE, offset: source.length ?? -1)
        } else if let body = request.body {
            try set(CURLOPT_POST, 1)
            try set(body: body)
        } else if ["POST", "PUT", "PATCH"].contains(request.method) {
            try set(CURLOPT_POST, 1)
            try set(body: [])
        } else if request.method == "HEAD" {
            try set(CURLOPT_NOBODY, 1)
            return
        } else {
            try set(CURLOPT_HTTPGET, 1)
        }
        try set(CURLOPT_CUSTOMREQUEST, request.method)
    }

    private static func isCookie(_ name: String) -> Bool {
        name.isEqualIgnoringASCIICase(to: "Cookie")
    }

    /// The lines of the request: `Name:` removes one of libcurl's own, `Name;` is an empty field.
    private static func headerLines(_ request: CurlRequest) -> [String] {
        // Waiting for "100 Continue" costs a second if an origin does not support it.
        var lines = ["Expect:"]
        if !request.headers.contains(where: { $0.name.isEqualIgnoringASCIICase(to: "Content-Type") }
        ) {
            // Otherwise libcurl would declare every body to be a form.
            lines.append("Content-Type:")
        }
        for (name, value) in request.headers
        where request.cookies == nil || !isCookie(name) {
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        return lines
    }
}

extension Duration {
    /// The whole milliseconds, rounded up, within libcurl's range and never its "default" of 0.
    fileprivate var curlMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        let milliseconds =
            seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, Int(milliseconds))
    }
}
