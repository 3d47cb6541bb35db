import Postgres
import TransferModel

/// The form of ``TransferOptions`` as `jsonb`: times in milliseconds, checksums in hexadecimal.
private struct StoredOptions: Codable {
    var timeout_for_request_ms: Int64?
    var timeout_for_resource_ms: Int64?
    var timeout_for_first_byte_ms: Int64?
    var bytes_per_second_max: Int64?
    var progress_interval_ms: Int64?
    var requires_tls_13: Bool?
    var certificate_authorities: String?
    var attempts_max: Int?
    var retry_delay_base_ms: Int64?
    var retry_delay_max_ms: Int64?
    var delivers_http_errors: Bool?
    var waits_for_connectivity: Bool?
    var asks_to_begin: Bool?
    var credential: String?
    var asks_for_credential: Bool?
    var redirects_max: Int?
    var size_max: Int64?
    var segments_max: Int?
    var expected_size: Int64?
    var is_idempotent: Bool?
    var checksums: [String: String]?
}

extension StoredJSON {
    /// Returns the stored form; nil for options without any value.
    static func text(of options: TransferOptions) throws(StoreError) -> String? {
        guard !options.isEmpty else { return nil }
        let checksums = options.checksums.map { ($0.algorithm.rawValue, $0.description) }
        return try encode(
            StoredOptions(
                timeout_for_request_ms: options.timeoutForRequest?.milliseconds,
                timeout_for_resource_ms: options.timeoutForResource?.milliseconds,
                timeout_for_first_byte_ms: options.timeoutForFirstByte?.milliseconds,
                bytes_per_second_max: options.bytesPerSecondMax,
                progress_interval_ms: options.progressInterval?.milliseconds,
                requires_tls_13: options.requiresTLS13,
                certificate_authorities: options.certificateAuthorities
                    .map { String(decoding: $0.pem, as: UTF8.self) },
                attempts_max: options.attemptsMax,
                retry_delay_base_ms: options.retryDelayBase?.milliseconds,
                retry_delay_max_ms: options.retryDelayMax?.milliseconds,
                delivers_http_errors: options.deliversHTTPErrors,
                waits_for_connectivity: options.waitsForConnectivity,
                asks_to_begin: options.asksToBegin,
                credential: options.credential,
                asks_for_credential: options.asksForCredential,
                redirects_max: options.redirectsMax,
                size_max: options.sizeMax,
                segments_max: options.segmentsMax,
                expected_size: options.expectedSize,
                is_idempotent: options.isIdempotent,
                checksums: checksums.isEmpty
                    ? nil : Dictionary(checksums, uniquingKeysWith: { first, _ in first })
            )
        )
    }

    static func options(_ text: String) throws(StoreError) -> TransferOptions {
        let stored = try decode(StoredOptions.self, text)
        var options = TransferOptions()
        options.timeoutForRequest = stored.timeout_for_request_ms.map { .milliseconds($0) }
        options.timeoutForResource = stored.timeout_for_resource_ms.map { .milliseconds($0) }
        options.timeoutForFirstByte = stored.timeout_for_first_byte_ms.map { .milliseconds($0) }
        options.bytesPerSecondMax = stored.bytes_per_second_max
        options.progressInterval = stored.progress_interval_ms.map { .milliseconds($0) }
        options.requiresTLS13 = stored.requires_tls_13
        options.certificateAuthorities = stored.certificate_authorities
            .map { CertificateAuthorities(stored: Array($0.utf8)) }
        options.attemptsMax = stored.attempts_max
        options.retryDelayBase = stored.retry_delay_base_ms.map { .milliseconds($0) }
        options.retryDelayMax = stored.retry_delay_max_ms.map { .milliseconds($0) }
        options.deliversHTTPErrors = stored.delivers_http_errors
        options.waitsForConnectivity = stored.waits_for_connectivity
        options.asksToBegin = stored.asks_to_begin
        options.credential = stored.credential
        options.asksForCredential = stored.asks_for_credential
        options.redirectsMax = stored.redirects_max
        options.sizeMax = stored.size_max
        options.segmentsMax = stored.segments_max
        options.expectedSize = stored.expected_size
        options.isIdempotent = stored.is_idempotent
        for (name, hex) in stored.checksums ?? [:] {
            guard let algorithm = ChecksumAlgorithm(rawValue: name),
                let checksum = Checksum(algorithm, hex: hex)
            else { throw StoreError(decoding: "stored options hold no checksum") }
            options.checksums.append(checksum)
        }
        options.checksums.sort { $0.algorithm < $1.algorithm }
        return options
    }
}

extension StoredRow {
    /// Returns the options in a column; empty options for NULL.
    func options(_ column: String) throws(StoreError) -> TransferOptions {
        guard let json = try decodeIfPresent(column, as: JSONText.self) else {
            return TransferOptions()
        }
        return try StoredJSON.options(json.text)
    }
}
