/// The body of `POST …/begin`: the answer to `task.will_begin`.
public struct BeginRequest: Codable, Sendable {
    /// The client's decision.
    public let disposition: Disposition
    /// The request to make instead, with ``Disposition/useNewRequest`` only.
    public let request: Replacement?

    /// The answers of `URLSession.DelayedRequestDisposition`.
    public enum Disposition: String, CaseIterable, Codable, Sendable {
        /// Begins as submitted.
        case proceed = "continue"
        /// Begins with another address or other headers; needs the scope `submit` as well.
        case useNewRequest = "use_new_request"
        case cancel
    }

    /// Creates a request; what is nil is absent.
    public init(disposition: Disposition, request: Replacement? = nil) {
        self.disposition = disposition
        self.request = request
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        disposition = try container.decodeWord(Disposition.self, forKey: .disposition)
        request = try container.decodeIfPresent(Replacement.self, forKey: .request)
    }

    private enum CodingKeys: CodingKey {
        case disposition, request
    }

    /// The request that the task makes instead.
    public struct Replacement: Codable, Sendable {
        /// The address that the task requests instead.
        public let target: TaskRequest.Target
        /// The headers that the task sends instead.
        public let headers: [String: String]?

        /// Creates a request; what is nil is absent.
        public init(target: TaskRequest.Target, headers: [String: String]? = nil) {
            self.target = target
            self.headers = headers
        }

        /// Reads an object that has no other members.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
            target = try TaskRequest.Target(
                in: container,
                url: .url,
                components: .components,
                at: decoder.codingPath
            )
            headers = try container.decodeIfPresent([String: String].self, forKey: .headers)
        }

        /// Writes the members of an object.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try target.encode(into: &container, url: .url, components: .components)
            try container.encodeIfPresent(headers, forKey: .headers)
        }

        private enum CodingKeys: CodingKey {
            case url, components, headers
        }
    }
}
