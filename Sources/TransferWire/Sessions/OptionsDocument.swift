/// The options in force, as clients see them; an option without a value is absent.
package struct OptionsDocument: Codable, Sendable {
    /// The maximum number of seconds without a byte.
    package var timeoutForRequest: Double?
    /// The maximum number of seconds for a task, over all its attempts.
    package var timeoutForResource: Double?
    /// The rules for retrying a failed attempt.
    package var retry: Retry?
    /// The treatment of a response other than 2xx: `fail` or `deliver`.
    package var httpErrors: String?
    /// The maximum number of redirects that one attempt follows.
    package var redirectsMax: Int?
    /// The maximum size of a file in bytes.
    package var sizeMax: Int64?
    /// The maximum number of connections that fetch one file together.
    package var segmentsMax: Int?
    /// Whether a task waits for a host that cannot be reached.
    package var waitsForConnectivity: Bool?
    /// Whether the client is asked before a delayed task begins.
    package var asksToBegin: Bool?
    /// The name of the credential for the task's own origin.
    package var credential: String?
    /// Whether a 401 makes the task wait for the client's answer.
    package var asksForCredential: Bool?
    /// The maximum number of seconds from a request to the first byte of its response.
    package var timeoutForFirstByte: Double?
    /// The maximum rate of each task in bytes per second.
    package var bytesPerSecondMax: Int64?
    /// The minimum number of seconds between two progress events of a task.
    package var progressInterval: Double?
    /// The requirements on TLS.
    package var tls: TLS?

    package init() {}

    private typealias CodingKeys = OptionsRequest.CodingKeys

    /// The requirements on TLS that are in force.
    package struct TLS: Codable, Sendable {
        /// The minimum version of TLS.
        package let minimumVersion: String?
        /// The trusted certificates in PEM.
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

    /// The rules for retrying that are in force.
    package struct Retry: Codable, Sendable {
        /// The maximum number of attempts, including the first.
        package let attemptsMax: Int?
        /// The seconds of the wait after the first failure.
        package let delayBase: Double?
        /// The maximum wait in seconds.
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
