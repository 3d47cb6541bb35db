/// The rules for retrying a failed attempt.
package struct RetryRequest: Decodable, Sendable {
    /// The maximum number of attempts, including the first.
    package let attemptsMax: Int?
    /// The base of the delay in seconds.
    package let delayBase: Double?
    /// The maximum delay in seconds.
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
