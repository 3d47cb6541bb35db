/// The options for transfers of tasks, among the fields of a session's configuration or of a task;
/// what is absent stays as it is.
package struct OptionsRequest: Decodable, Sendable {
    /// The maximum number of seconds without a byte.
    package let timeoutForRequest: Double?
    /// The maximum number of seconds for a task, over all its attempts.
    package let timeoutForResource: Double?
    /// The rules for retrying a failed attempt.
    package let retry: RetryRequest?
    /// The treatment of a response other than 2xx: `fail` or `deliver`.
    package let httpErrors: String?
    /// The maximum number of redirects that one attempt follows.
    package let redirectsMax: Int?
    /// The maximum size of a file in bytes.
    package let sizeMax: Int64?
    /// The maximum number of connections that fetch one file together.
    package let segmentsMax: Int?
    /// Whether a task waits for a host that cannot be reached.
    package let waitsForConnectivity: Bool?
    /// Whether the client is asked before a delayed task begins.
    package let asksToBegin: Bool?
    /// The name of the credential for the task's own origin.
    package let credential: String?
    /// Whether a 401 makes the task wait for the client's answer.
    package let asksForCredential: Bool?
    /// The maximum number of seconds to the first byte of an answer.
    package let timeoutForFirstByte: Double?
    /// The maximum rate of each task in bytes per second.
    package let bytesPerSecondMax: Int64?
    /// The seconds between two progress events.
    package let progressInterval: Double?
    /// The requirements on TLS.
    package let tls: TLSRequest?

    package enum CodingKeys: String, CodingKey {
        case retry, tls, credential
        case timeoutForFirstByte = "timeout_for_first_byte"
        case bytesPerSecondMax = "bytes_per_second_max"
        case progressInterval = "progress_interval"
        case timeoutForRequest = "timeout_for_request"
        case timeoutForResource = "timeout_for_resource"
        case httpErrors = "http_errors"
        case redirectsMax = "redirects_max"
        case sizeMax = "size_max"
        case segmentsMax = "segments_max"
        case waitsForConnectivity = "waits_for_connectivity"
        case asksToBegin = "asks_to_begin"
        case asksForCredential = "asks_for_credential"
    }
}
