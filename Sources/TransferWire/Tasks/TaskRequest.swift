/// One task, as a client asks for it.
package struct TaskRequest: Decodable, Sendable {
    /// The address that the task requests.
    package let target: Target
    /// The headers of the request.
    package let headers: [String: String]?
    /// The string that the client gives the task, returned with it and its events.
    package let clientPersistedString: String?
    /// The time before which the task does not begin.
    package let earliestBeginAt: Timestamp?
    /// Whether the task starts without `resume`.
    package let autostart: Bool?
    /// The priority from 0 to 1 among tasks for the same host.
    package let priority: Double?
    /// The destination of the result in the tenant's container.
    package let destination: DestinationRequest?
    /// The data left by a cancelled task, from which this one resumes.
    package let resumeData: String?
    /// The options for the transfer.
    package let options: OptionMembers
    /// The kind: `download`, `upload` or `data`.
    package let kind: String?
    /// The method of the request.
    package let method: String?
    /// The source of the bytes of an upload.
    package let upload: UploadRequest?
    /// The bytes that a download or a data task sends.
    package let body: BodyRequest?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        target = try Target(
            in: container,
            url: .url,
            components: .components,
            at: decoder.codingPath
        )
        headers = try container.decodeIfPresent([String: String].self, forKey: .headers)
        clientPersistedString = try container.decodeIfPresent(
            String.self,
            forKey: .clientPersistedString
        )
        earliestBeginAt = try container.decodeIfPresent(Timestamp.self, forKey: .earliestBeginAt)
        autostart = try container.decodeIfPresent(Bool.self, forKey: .autostart)
        priority = try container.decodeIfPresent(Double.self, forKey: .priority)
        destination = try container.decodeIfPresent(DestinationRequest.self, forKey: .destination)
        resumeData = try container.decodeIfPresent(String.self, forKey: .resumeData)
        options = try OptionMembers(from: decoder, besides: CodingKeys.self)
        kind = try container.decodeIfPresent(String.self, forKey: .kind)
        method = try container.decodeIfPresent(String.self, forKey: .method)
        upload = try container.decodeIfPresent(UploadRequest.self, forKey: .upload)
        body = try container.decodeIfPresent(BodyRequest.self, forKey: .body)
    }

    /// An address in one of two forms.
    package enum Target: Sendable {
        case url(String)
        case components(URLComponentsRequest)

        /// Reads the form that is present.
        init<Key: CodingKey>(
            in container: KeyedDecodingContainer<Key>,
            url: Key,
            components key: Key,
            at path: [any CodingKey]
        ) throws {
            let components = try container.decodeIfPresent(URLComponentsRequest.self, forKey: key)
            guard let components else {
                self = .url(try container.decode(String.self, forKey: url))
                return
            }
            guard try container.decodeIfPresent(String.self, forKey: url) == nil else {
                throw FieldError(
                    pointer: JSONPointer.rendering(path + [key]),
                    .invalidValue,
                    "Stands in place of `url`, not beside it."
                )
            }
            self = .components(components)
        }
    }

    enum CodingKeys: String, CodingKey {
        case url, components, headers, autostart, priority, destination
        case kind, method, upload, body
        case clientPersistedString = "client_persisted_string"
        case earliestBeginAt = "earliest_begin_at"
        case resumeData = "resume_data"
    }
}

extension KeyedDecodingContainer {
    /// Returns nil when there is no such name, and an inner nil when its value is null.
    func decodeIfNamed<Value: Decodable>(
        _ type: Value.Type,
        forKey key: Key
    ) throws -> Value?? {
        guard contains(key) else { return nil }
        return .some(try decodeIfPresent(type, forKey: key))
    }
}
