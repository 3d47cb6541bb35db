/// The body of `POST …/begin`: the answer to `task.will_begin`.
package struct BeginRequest: Decodable, Sendable {
    /// The client's decision.
    package let disposition: Disposition
    /// The request to make instead, with ``Disposition/useNewRequest`` only.
    package let request: Replacement?

    /// The answers of `URLSession.DelayedRequestDisposition`.
    package enum Disposition: String, CaseIterable, Decodable, Sendable {
        /// Begins as submitted.
        case proceed = "continue"
        /// Begins with another address or other headers.
        case useNewRequest = "use_new_request"
        case cancel
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        disposition = try container.decode(Disposition.self, forKey: .disposition)
        request = try container.decodeIfPresent(Replacement.self, forKey: .request)
    }

    private enum CodingKeys: CodingKey {
        case disposition, request
    }

    /// The request that the task makes instead.
    package struct Replacement: Decodable, Sendable {
        /// The address that the task requests instead.
        package let target: TaskRequest.Target
        /// The headers that the task sends instead.
        package let headers: [String: String]?

        package init(from decoder: any Decoder) throws {
            let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
            target = try TaskRequest.Target(
                in: container,
                url: .url,
                components: .components,
                at: decoder.codingPath
            )
            headers = try container.decodeIfPresent([String: String].self, forKey: .headers)
        }

        private enum CodingKeys: CodingKey {
            case url, components, headers
        }
    }
}
