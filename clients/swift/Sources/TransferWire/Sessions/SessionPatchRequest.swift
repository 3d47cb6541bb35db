import Foundation

/// The body of `PATCH /v1/sessions/{identifier}`: a JSON Merge Patch (RFC 7396).
public struct SessionPatchRequest: Codable, Sendable {
    /// The whole new configuration.
    public let configuration: SessionConfigurationRequest?

    /// Creates a request; what is nil is absent.
    public init(configuration: SessionConfigurationRequest? = nil) {
        self.configuration = configuration
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        configuration = try container.decodeIfPresent(
            SessionConfigurationRequest.self,
            forKey: .configuration
        )
    }

    /// Creates the request that changes `current`, whose headers have `values` by their names, as
    /// `patch` does.
    ///
    /// - Throws: ``WireDecoder/Failure`` when there would be something wrong with it.
    public init(
        changing current: SessionDocument.Configuration,
        headers values: [String: String],
        by patch: JSONValue
    ) throws {
        var members = try JSONDecoder().decode(
            [String: JSONValue].self,
            from: Data(try WireEncoder.encode(current))
        )
        // A document names the headers, a request gives them.
        members["header_names"] = nil
        members[ConfigurationKey.additionalHeaders.rawValue] = .object(
            values.mapValues(JSONValue.string)
        )
        let value = JSONValue.object(["configuration": .object(members)])
        // A misspelt name under null would reset nothing, and not be noticed.
        self = try WireDecoder.decode(
            SessionPatchRequest.self,
            from: try WireEncoder.encode(value.merged(with: patch, keepsNulls: true))
        )
    }

    private enum CodingKeys: CodingKey {
        case configuration
    }
}
