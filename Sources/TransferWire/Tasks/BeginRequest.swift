/// The body of `POST …/begin`: the answer to `task.will_begin`.
package struct BeginRequest: Decodable, Sendable {
    package let disposition: Disposition
    /// With ``Disposition/useNewRequest`` only.
    package let request: Replacement?

    /// `URLSession.DelayedRequestDisposition`.
    package enum Disposition: String, CaseIterable, Decodable, Sendable {
        /// Begin as submitted.
        case proceed = "continue"
        /// Begin with another address or other headers.
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

    /// What the task asks for instead.
    package struct Replacement: Decodable, Sendable {
        package let target: TaskRequest.Target
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
