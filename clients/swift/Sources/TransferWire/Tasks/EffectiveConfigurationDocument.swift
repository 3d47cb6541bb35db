/// What holds for a task: its own options, those of its session, and the service's defaults.
public struct EffectiveConfigurationDocument: Codable, Sendable {
    /// The names of the headers that are sent.
    public let headerNames: [String]
    /// The options for the transfer.
    public let options: OptionMembers

    /// Creates the value from its parts.
    public init(headerNames: [String], options: OptionMembers) {
        self.headerNames = headerNames
        self.options = options
    }

    /// Reads the members of an object.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        headerNames = try container.decode([String].self, forKey: .headerNames)
        options = try OptionMembers(from: decoder, besides: CodingKeys.self)
    }

    /// Writes the members of an object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(headerNames, forKey: .headerNames)
        try options.encode(to: encoder)
    }

    private enum CodingKeys: String, CodingKey {
        case headerNames = "header_names"
    }
}
