/// The options for transfers of tasks, among the fields of a session's configuration or of a task;
/// what is absent stays as it is.
package struct OptionsRequest: Decodable, Sendable {
    /// The maximum number of seconds without a byte.
    package let timeoutForRequest: Double?
    /// The maximum number of seconds for a task, over all its attempts.
    package let timeoutForResource: Double?
    package let retry: RetryRequest?
    package let httpErrors: String?
    package let redirectsMax: Int?
    package let sizeMax: Int64?
    package let segmentsMax: Int?
    package let waitsForConnectivity: Bool?
    package let asksToBegin: Bool?
    package let credential: String?
    package let asksForCredential: Bool?
    /// The maximum number of seconds to the first byte of an answer.
    package let timeoutForFirstByte: Double?
    package let bytesPerSecondMax: Int64?
    /// The seconds between two progress events.
    package let progressInterval: Double?
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
