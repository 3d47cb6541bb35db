/// The body of `POST …/reconnect`, which may be omitted.
package struct ReconnectRequest: Decodable, Sendable {
    package let owner: String?
    /// The seconds of the lease; an inner nil is null and means permanent.
    package let leaseSeconds: Int64??
    /// The maximum number of tasks to take over at once.
    package let limit: Int?
    /// The cursor of an earlier answer.
    package let cursor: String?
    /// The format that the client expects in its client strings.
    package let persistedFormat: Format?
    /// The extension's session to adopt.
    package let creationInfo: CreationInfo?

    package init() {
        owner = nil
        leaseSeconds = nil
        limit = nil
        cursor = nil
        persistedFormat = nil
        creationInfo = nil
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        owner = try container.decodeIfPresent(String.self, forKey: .owner)
        leaseSeconds = try container.decodeIfNamed(Int64.self, forKey: .leaseSeconds)
        limit = try container.decodeIfPresent(Int.self, forKey: .limit)
        cursor = try container.decodeIfPresent(String.self, forKey: .cursor)
        persistedFormat = try container.decodeIfPresent(Format.self, forKey: .persistedFormat)
        creationInfo = try container.decodeIfPresent(CreationInfo.self, forKey: .creationInfo)
    }

    private enum CodingKeys: String, CodingKey {
        case owner, limit, cursor
        case leaseSeconds = "lease_seconds"
        case persistedFormat = "persisted_format"
        case creationInfo = "creation_info"
    }

    /// The format that the client expects in its client strings.
    package struct Format: Decodable, Sendable {
        package let version: Int
        package let kinds: [String]

        package init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
            version = try container.decode(Int.self, forKey: .version)
            kinds = try container.decode([String].self, forKey: .kinds)
        }

        private enum CodingKeys: CodingKey {
            case version, kinds
        }
    }

    /// The extension whose session is adopted, and the container it was created with.
    package struct CreationInfo: Decodable, Sendable {
        /// The extension whose session is adopted.
        package let client: String
        /// The container that the session was created with.
        package let sharedContainerIdentifier: String

        package init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
            client = try container.decode(String.self, forKey: .client)
            sharedContainerIdentifier = try container.decode(
                String.self,
                forKey: .sharedContainerIdentifier
            )
        }

        private enum CodingKeys: String, CodingKey {
            case client
            case sharedContainerIdentifier = "shared_container_identifier"
        }
    }
}
