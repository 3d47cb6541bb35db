/// One task, as a client asks for it.
package struct TaskRequest: Decodable, Sendable {
    /// The address that the task requests.
    package let target: Target
    package let headers: [String: String]?
    package let clientPersistedString: String?
    package let earliestBeginAt: Timestamp?
    package let autostart: Bool?
    package let priority: Double?
    package let destination: DestinationRequest?
    package let resumeData: String?
    package let expectedSize: Int64?
    /// The checksums in hexadecimal, by algorithm.
    package let checksums: [String: String]?
    package let options: OptionsRequest
    package let kind: String?
    package let method: String?
    package let upload: UploadRequest?
    /// The body in base64.
    package let body: String?
    package let idempotent: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(
            keyedBy: CodingKeys.self,
            or: OptionsRequest.CodingKeys.self
        )
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
        expectedSize = try container.decodeIfPresent(Int64.self, forKey: .expectedSize)
        checksums = try container.decodeIfPresent([String: String].self, forKey: .checksums)
        options = try OptionsRequest(from: decoder)
        kind = try container.decodeIfPresent(String.self, forKey: .kind)
        method = try container.decodeIfPresent(String.self, forKey: .method)
        upload = try container.decodeIfPresent(UploadRequest.self, forKey: .upload)
        body = try container.decodeIfPresent(String.self, forKey: .body)
        idempotent = try container.decodeIfPresent(Bool.self, forKey: .idempotent)
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

    private enum CodingKeys: String, CodingKey {
        case url, components, headers, autostart, priority, destination, checksums
        case kind, method, upload, body, idempotent
        case expectedSize = "expected_size"
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
