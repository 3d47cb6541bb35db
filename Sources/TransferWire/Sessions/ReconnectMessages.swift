/// The body of `POST …/reconnect`, which may be left out.
package struct ReconnectRequest: Decodable, Sendable {
    package let owner: String?
    /// A nil within is null: for good.
    package let leaseSeconds: Int64??
    package let limit: Int?
    package let cursor: String?
    package let persistedFormat: Format?
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

    /// What the client expects in its client strings.
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

    /// Which extension's session is adopted, as it was created.
    package struct CreationInfo: Decodable, Sendable {
        package let client: String
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

/// What a client has taken over.
package struct ReconnectionDocument: Codable, Sendable {
    package let items: [Item]
    /// Renews and releases the items; absent when there are none.
    package let leaseToken: String?
    /// Absent for good, and when there are no items.
    package let leaseExpiresAt: Timestamp?
    /// Absent when there was nothing more.
    package let nextCursor: String?

    package init(
        items: [Item],
        leaseToken: String?,
        leaseExpiresAt: Timestamp?,
        nextCursor: String?
    ) {
        self.items = items
        self.leaseToken = leaseToken
        self.leaseExpiresAt = leaseExpiresAt
        self.nextCursor = nextCursor
    }

    private enum CodingKeys: String, CodingKey {
        case items
        case leaseToken = "lease_token"
        case leaseExpiresAt = "lease_expires_at"
        case nextCursor = "next_cursor"
    }

    /// One task, or why there is none.
    package struct Item: Codable, Sendable {
        package let ok: TaskDocument?
        package let error: Failure?

        package init(_ task: TaskDocument) {
            ok = task
            error = nil
        }

        package init(_ failure: Failure) {
            ok = nil
            error = failure
        }
    }

    /// A task that the client cannot go on with.
    package struct Failure: Codable, Sendable {
        package let taskID: String
        /// Stable.
        package let kind: String
        package let message: String

        package init(taskID: String, kind: String, message: String) {
            self.taskID = taskID
            self.kind = kind
            self.message = message
        }

        private enum CodingKeys: String, CodingKey {
            case kind, message
            case taskID = "task_id"
        }
    }
}

/// The body of `PATCH /v1/leases/{id}`.
package struct LeaseRequest: Decodable, Sendable {
    /// Null: for good; absent: the default.
    package let leaseSeconds: Int64??

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        leaseSeconds = try container.decodeIfNamed(Int64.self, forKey: .leaseSeconds)
    }

    private enum CodingKeys: String, CodingKey {
        case leaseSeconds = "lease_seconds"
    }
}

/// A lease that was renewed.
package struct LeaseDocument: Codable, Sendable {
    package let leaseToken: String
    /// Absent for good.
    package let leaseExpiresAt: Timestamp?
    /// How many it still holds.
    package let tasks: Int

    package init(leaseToken: String, leaseExpiresAt: Timestamp?, tasks: Int) {
        self.leaseToken = leaseToken
        self.leaseExpiresAt = leaseExpiresAt
        self.tasks = tasks
    }

    private enum CodingKeys: String, CodingKey {
        case tasks
        case leaseToken = "lease_token"
        case leaseExpiresAt = "lease_expires_at"
    }
}
