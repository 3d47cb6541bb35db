import TransferHTTP

/// Where the API listens, and for how many.
struct ServerSettings: Sendable {
    static let hostDefault = "127.0.0.1"
    static let portDefault = 8080

    let host: String
    let port: Int
    /// The files for TLS; nil for plain HTTP.
    let tls: TLSFiles?
    /// The service's address as clients know it, without a slash at its end.
    let publicURL: String?
    var bounds: ConnectionBounds
    /// Whether `/metrics` is there.
    let offersMetrics: Bool
    /// Whether the page at `/` is there.
    let offersPage: Bool

    init(_ options: ServiceOptions, isAPI: Bool, _ reader: inout SettingsReader) {
        host = reader.text(options.host, "TRANSFERD_HOST") ?? Self.hostDefault
        let plainHTTP = reader.word(
            options.plainHTTP,
            "TRANSFERD_PLAIN_HTTP",
            default: PlainHTTP.loopback
        )
        tls = TLSFiles(options, &reader)
        if isAPI, tls == nil, plainHTTP == .loopback, !PlainHTTP.isLoopback(host) {
            reader.refuse(
                """
                TRANSFERD_HOST: on \(host), API keys would cross the network without encryption. \
                Set TRANSFERD_TLS_CERTIFICATE_FILE and TRANSFERD_TLS_KEY_FILE, listen on 127.0.0.1 \
                behind a proxy that has TLS, or set TRANSFERD_PLAIN_HTTP to anywhere if that network \
                is trusted or the proxy is on another machine
                """
            )
        }
        port = reader.number(
            options.port,
            "TRANSFERD_PORT",
            in: 0...65_535,
            default: Self.portDefault
        )
        publicURL = reader.baseURL(options.publicURL, "TRANSFERD_PUBLIC_URL")
        let connectionsMax = reader.number(
            options.connectionsMax,
            "TRANSFERD_CONNECTIONS_MAX",
            in: ConnectionBounds.maxRange,
            default: ConnectionBounds.maxDefault
        )
        let perAddressMax = reader.number(
            options.connectionsPerAddress,
            "TRANSFERD_CONNECTIONS_PER_ADDRESS",
            in: 1...ConnectionBounds.maxRange.upperBound,
            default: ConnectionBounds(max: connectionsMax).perAddressMax
        )
        offersMetrics = reader.isOn(options.metrics, "TRANSFERD_METRICS")
        offersPage = reader.isOn(options.page, "TRANSFERD_PAGE")
        bounds = ConnectionBounds(max: connectionsMax, perAddressMax: perAddressMax)
    }
}
