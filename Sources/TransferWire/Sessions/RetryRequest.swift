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
