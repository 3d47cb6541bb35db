/// The body of `POST …/reconnect`, which may be omitted.
public struct ReconnectRequest: Codable, Sendable {
    /// The name of the taker, which the log tells.
    public let owner: String?
    /// The seconds of the lease; an inner nil is null and means permanent.
    public let leaseSeconds: Int64??
    /// The maximum number of tasks to take over at once.
    public let limit: Int?
    /// The cursor of an earlier answer.
    public let cursor: String?
    /// The format that the client expects in its client strings.
    public let persistedFormat: Format?
    /// The extension's session to adopt.
    public let creationInfo: CreationInfo?

    /// Creates a request; what is nil is absent.
    public init(
        owner: String? = nil,
        leaseSeconds: Int64?? = nil,
        limit: Int? = nil,
        cursor: String? = nil,
        persistedFormat: Format? = nil,
        creationInfo: CreationInfo? = nil
    ) {
        self.owner = owner
        self.leaseSeconds = leaseSeconds
        self.limit = limit
        self.cursor = cursor
        self.persistedFormat = persistedFormat
        self.creationInfo = creationInfo
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
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
    public struct Format: Codable, Sendable {
        /// The version of the format.
        public let version: Int
        /// The kinds of client strings that the client can read.
        public let kinds: [String]

        /// Creates a request.
        public init(version: Int, kinds: [String]) {
            self.version = version
            self.kinds = kinds
        }

        /// Reads an object that has no other members.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
            version = try container.decode(Int.self, forKey: .version)
            kinds = try container.decode([String].self, forKey: .kinds)
        }

        private enum CodingKeys: CodingKey {
            case version, kinds
        }
    }

    /// The extension whose session is adopted, and the container it was created with.
    public struct CreationInfo: Codable, Sendable {
        /// The extension whose session is adopted.
        public let client: String
        /// The container that the session was created with.
        public let sharedContainerIdentifier: String

        /// Creates a request.
        public init(client: String, sharedContainerIdentifier: String) {
            self.client = client
            self.sharedContainerIdentifier = sharedContainerIdentifier
        }

        /// Reads an object that has no other members.
        public init(from decoder: any Decoder) throws {
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
