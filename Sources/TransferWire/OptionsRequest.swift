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
    package let waitsForConnectivity: Bool?

    package enum CodingKeys: String, CodingKey {
        case retry
        case timeoutForRequest = "timeout_for_request"
        case timeoutForResource = "timeout_for_resource"
        case httpErrors = "http_errors"
        case redirectsMax = "redirects_max"
        case sizeMax = "size_max"
        case waitsForConnectivity = "waits_for_connectivity"
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
    package var waitsForConnectivity: Bool?

    package init() {}

    private typealias CodingKeys = OptionsRequest.CodingKeys

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
