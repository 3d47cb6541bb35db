/// The options in force, as clients see them; an option without a value is absent.
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
