/// The body of `POST /v1/subscriptions`.
package struct SubscriptionRequest: Decodable, Sendable {
    package let url: String
    package let client: String?
    package let sessionIdentifier: String?
    package let eventTypes: [String]?
    package let description: String?
    package let enabled: Bool?
    package let headers: [String: String]?
    package let concurrency: Int?
    package let rateLimit: Int?
    package let ackTimeoutSeconds: Int?
    package let deliveryForm: String?
    package let wakeUpThrottling: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        url = try container.decode(String.self, forKey: .url)
        client = try container.decodeIfPresent(String.self, forKey: .client)
        sessionIdentifier = try container.decodeIfPresent(String.self, forKey: .sessionIdentifier)
        eventTypes = try container.decodeIfPresent([String].self, forKey: .eventTypes)
        description = try container.decodeIfPresent(String.self, forKey: .description)
        enabled = try container.decodeIfPresent(Bool.self, forKey: .enabled)
        headers = try container.decodeIfPresent([String: String].self, forKey: .headers)
        concurrency = try container.decodeIfPresent(Int.self, forKey: .concurrency)
        rateLimit = try container.decodeIfPresent(Int.self, forKey: .rateLimit)
        ackTimeoutSeconds = try container.decodeIfPresent(Int.self, forKey: .ackTimeoutSeconds)
        deliveryForm = try container.decodeIfPresent(String.self, forKey: .deliveryForm)
        wakeUpThrottling = try container.decodeIfPresent(Bool.self, forKey: .wakeUpThrottling)
    }

    private enum CodingKeys: String, CodingKey {
        case url, client, description, enabled, headers, concurrency
        case sessionIdentifier = "session_identifier"
        case eventTypes = "event_types"
        case rateLimit = "rate_limit"
        case ackTimeoutSeconds = "ack_timeout_seconds"
        case deliveryForm = "delivery_form"
        case wakeUpThrottling = "wake_up_throttling"
    }
}

/// The body of `PATCH /v1/subscriptions/{id}`: what is absent stays, what is null is cleared.
package struct SubscriptionPatchRequest: Decodable, Sendable {
    package let url: String?
    package let eventTypes: [String]??
    package let description: String??
    package let enabled: Bool?
    package let headers: [String: String]??
    package let concurrency: Int??
    package let rateLimit: Int??
    package let ackTimeoutSeconds: Int?
    package let deliveryForm: String?
    package let wakeUpThrottling: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        url = try container.decodeIfPresent(String.self, forKey: .url)
        eventTypes = try container.decodeIfNamed([String].self, forKey: .eventTypes)
        description = try container.decodeIfNamed(String.self, forKey: .description)
        enabled = try container.decodeIfPresent(Bool.self, forKey: .enabled)
        headers = try container.decodeIfNamed([String: String].self, forKey: .headers)
        concurrency = try container.decodeIfNamed(Int.self, forKey: .concurrency)
        rateLimit = try container.decodeIfNamed(Int.self, forKey: .rateLimit)
        ackTimeoutSeconds = try container.decodeIfPresent(Int.self, forKey: .ackTimeoutSeconds)
        deliveryForm = try container.decodeIfPresent(String.self, forKey: .deliveryForm)
        wakeUpThrottling = try container.decodeIfPresent(Bool.self, forKey: .wakeUpThrottling)
    }

    private enum CodingKeys: String, CodingKey {
        case url, description, enabled, headers, concurrency
        case eventTypes = "event_types"
        case rateLimit = "rate_limit"
        case ackTimeoutSeconds = "ack_timeout_seconds"
        case deliveryForm = "delivery_form"
        case wakeUpThrottling = "wake_up_throttling"
    }
}

/// The body of `POST …/rotate-secret`, which may be left out.
package struct RotateSecretRequest: Decodable, Sendable {
    package let overlapSeconds: Int64?

    package init() { overlapSeconds = nil }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        overlapSeconds = try container.decodeIfPresent(Int64.self, forKey: .overlapSeconds)
    }

    private enum CodingKeys: String, CodingKey {
        case overlapSeconds = "overlap_seconds"
    }
}

/// The answer to `POST …/rotate-secret`.
package struct SigningSecretDocument: Codable, Sendable {
    /// `whsec_…`; only here.
    package let secret: String
    /// Until when the secrets before it sign too; absent when they are gone.
    package let previousSecretsExpireAt: Timestamp?

    package init(secret: String, previousSecretsExpireAt: Timestamp?) {
        self.secret = secret
        self.previousSecretsExpireAt = previousSecretsExpireAt
    }

    private enum CodingKeys: String, CodingKey {
        case secret
        case previousSecretsExpireAt = "previous_secrets_expire_at"
    }
}

/// A subscription as clients see it.
package struct SubscriptionDocument: Codable, Sendable {
    package let id: String
    package let url: String
    /// Absent for the events of all clients.
    package let client: String?
    /// Absent for the events of all sessions.
    package let sessionIdentifier: String?
    /// Absent for events of every type.
    package let eventTypes: [String]?
    package let description: String?
    package let enabled: Bool
    package let disabled: Disablement?
    /// The names of what is sent with each message; the values are never shown.
    package let headerNames: [String]?
    package let concurrency: Int?
    package let rateLimit: Int?
    package let ackTimeoutSeconds: Int64
    /// `single` or `batch`.
    package let deliveryForm: String
    package let wakeUpThrottling: Bool
    package let createdAt: Timestamp
    /// `whsec_…`; only in the answer to its creation.
    package let secret: String?

    package init(
        id: String,
        url: String,
        client: String?,
        sessionIdentifier: String?,
        eventTypes: [String]?,
        description: String?,
        disabled: Disablement?,
        headerNames: [String]?,
        concurrency: Int?,
        rateLimit: Int?,
        ackTimeoutSeconds: Int64,
        deliveryForm: String,
        wakeUpThrottling: Bool,
        createdAt: Timestamp,
        secret: String?
    ) {
        self.id = id
        self.url = url
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.eventTypes = eventTypes
        self.description = description
        enabled = disabled == nil
        self.disabled = disabled
        self.headerNames = headerNames
        self.concurrency = concurrency
        self.rateLimit = rateLimit
        self.ackTimeoutSeconds = ackTimeoutSeconds
        self.deliveryForm = deliveryForm
        self.wakeUpThrottling = wakeUpThrottling
        self.createdAt = createdAt
        self.secret = secret
    }

    private enum CodingKeys: String, CodingKey {
        case id, url, client, description, enabled, disabled, concurrency, secret
        case sessionIdentifier = "session_identifier"
        case eventTypes = "event_types"
        case headerNames = "header_names"
        case rateLimit = "rate_limit"
        case ackTimeoutSeconds = "ack_timeout_seconds"
        case deliveryForm = "delivery_form"
        case wakeUpThrottling = "wake_up_throttling"
        case createdAt = "created_at"
    }

    /// Why nothing is sent, and since when.
    package struct Disablement: Codable, Equatable, Sendable {
        /// `client`, `gone` or `failing`.
        package let reason: String
        package let since: Timestamp

        package init(reason: String, since: Timestamp) {
            self.reason = reason
            self.since = since
        }
    }
}

/// The body of `POST …/events/ack`.
package struct AckRequest: Decodable, Sendable {
    package let ackToken: String

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        ackToken = try container.decode(String.self, forKey: .ackToken)
    }

    private enum CodingKeys: String, CodingKey {
        case ackToken = "ack_token"
    }
}
