/// How tasks are to be transferred, among the fields of a session's configuration or of a task;
/// what is absent stays as it is.
package struct OptionsRequest: Decodable, Sendable {
    /// Seconds without a byte.
    package let timeoutForRequest: Double?
    /// Seconds for a task, over all its attempts.
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
    /// Seconds to the begin of an answer.
    package let timeoutForFirstByte: Double?
    package let bytesPerSecondMax: Int64?
    /// Seconds between two events.
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

/// What is asked of TLS, besides the verification that is always on.
package struct TLSRequest: Decodable, Sendable {
    package let minimumVersion: String?
    /// In PEM.
    package let certificateAuthorities: String?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        minimumVersion = try container.decodeIfPresent(String.self, forKey: .minimumVersion)
        certificateAuthorities = try container.decodeIfPresent(
            String.self,
            forKey: .certificateAuthorities
        )
    }

    private enum CodingKeys: String, CodingKey {
        case minimumVersion = "minimum_version"
        case certificateAuthorities = "certificate_authorities"
    }
}

/// When a failed attempt is followed by another.
package struct RetryRequest: Decodable, Sendable {
    package let attemptsMax: Int?
    /// Seconds.
    package let delayBase: Double?
    /// Seconds.
    package let delayMax: Double?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        attemptsMax = try container.decodeIfPresent(Int.self, forKey: .attemptsMax)
        delayBase = try container.decodeIfPresent(Double.self, forKey: .delayBase)
        delayMax = try container.decodeIfPresent(Double.self, forKey: .delayMax)
    }

    private enum CodingKeys: String, CodingKey {
        case attemptsMax = "attempts_max"
        case delayBase = "delay_base"
        case delayMax = "delay_max"
    }
}

/// The options in force, as clients see them; what has no value is absent.
package struct OptionsDocument: Codable, Sendable {
    package var timeoutForRequest: Double?
    package var timeoutForResource: Double?
    package var retry: Retry?
    package var httpErrors: String?
    package var redirectsMax: Int?
    package var sizeMax: Int64?
    package var segmentsMax: Int?
    package var waitsForConnectivity: Bool?
    package var asksToBegin: Bool?
    package var credential: String?
    package var asksForCredential: Bool?
    package var timeoutForFirstByte: Double?
    package var bytesPerSecondMax: Int64?
    package var progressInterval: Double?
    package var tls: TLS?

    package init() {}

    private typealias CodingKeys = OptionsRequest.CodingKeys

    package struct TLS: Codable, Sendable {
        package let minimumVersion: String?
        package let certificateAuthorities: String?

        package init(minimumVersion: String?, certificateAuthorities: String?) {
            self.minimumVersion = minimumVersion
            self.certificateAuthorities = certificateAuthorities
        }

        private enum CodingKeys: String, CodingKey {
            case minimumVersion = "minimum_version"
            case certificateAuthorities = "certificate_authorities"
        }
    }

    package struct Retry: Codable, Sendable {
        package let attemptsMax: Int?
        package let delayBase: Double?
        package let delayMax: Double?

        package init(attemptsMax: Int?, delayBase: Double?, delayMax: Double?) {
            self.attemptsMax = attemptsMax
            self.delayBase = delayBase
            self.delayMax = delayMax
        }

        private enum CodingKeys: String, CodingKey {
            case attemptsMax = "attempts_max"
            case delayBase = "delay_base"
            case delayMax = "delay_max"
        }
    }
}
