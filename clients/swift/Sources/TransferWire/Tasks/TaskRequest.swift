/// One task, as a client asks for it.
public struct TaskRequest: Codable, Sendable {
    /// The address that the task requests.
    public let target: Target
    /// The headers of the request.
    public let headers: [String: String]?
    /// The string that the client gives the task, returned with it and its events.
    public let clientPersistedString: String?
    /// The time before which the task does not begin.
    public let earliestBeginAt: Timestamp?
    /// Whether the task starts without `resume`.
    public let autostart: Bool?
    /// The priority from 0 to 1 among tasks for the same host.
    public let priority: Double?
    /// The destination of the result in the tenant's container.
    public let destination: DestinationRequest?
    /// The data left by a cancelled task, from which this one resumes.
    public let resumeData: String?
    /// The options for the transfer.
    public let options: OptionMembers
    /// The kind: `download`, `upload` or `data`.
    public let kind: String?
    /// The method of the request.
    public let method: String?
    /// The source of the bytes of an upload.
    public let upload: UploadRequest?
    /// The bytes that a download or a data task sends.
    public let body: BodyRequest?

    /// Creates a request; what is nil is absent.
    public init(
        target: Target,
        headers: [String: String]? = nil,
        clientPersistedString: String? = nil,
        earliestBeginAt: Timestamp? = nil,
        autostart: Bool? = nil,
        priority: Double? = nil,
        destination: DestinationRequest? = nil,
        resumeData: String? = nil,
        options: OptionMembers = OptionMembers(),
        kind: String? = nil,
        method: String? = nil,
        upload: UploadRequest? = nil,
        body: BodyRequest? = nil
    ) {
        self.target = target
        self.headers = headers
        self.clientPersistedString = clientPersistedString
        self.earliestBeginAt = earliestBeginAt
        self.autostart = autostart
        self.priority = priority
        self.destination = destination
        self.resumeData = resumeData
        self.options = options
        self.kind = kind
        self.method = method
        self.upload = upload
        self.body = body
    }

    /// Reads the members of an object.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        target = try Target(
            in: container,
            url: .url,
            components: .components,
            at: decoder.codingPath,
            detailIfMissing: "Is required, or `components`; several tasks are an array of objects."
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

    /// Writes the members of an object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try target.encode(into: &container, url: .url, components: .components)
        try container.encodeIfPresent(headers, forKey: .headers)
        try container.encodeIfPresent(clientPersistedString, forKey: .clientPersistedString)
        try container.encodeIfPresent(earliestBeginAt, forKey: .earliestBeginAt)
        try container.encodeIfPresent(autostart, forKey: .autostart)
        try container.encodeIfPresent(priority, forKey: .priority)
        try container.encodeIfPresent(destination, forKey: .destination)
        try container.encodeIfPresent(resumeData, forKey: .resumeData)
        try container.encodeIfPresent(kind, forKey: .kind)
        try container.encodeIfPresent(method, forKey: .method)
        try container.encodeIfPresent(upload, forKey: .upload)
        try container.encodeIfPresent(body, forKey: .body)
        try options.encode(to: encoder)
    }

    /// An address in one of two forms.
    public enum Target: Sendable {
        case url(String)
        case components(URLComponentsRequest)

        /// Reads the form that is present; without one, the fault has `detailIfMissing`.
        init<Key: CodingKey>(
            in container: KeyedDecodingContainer<Key>,
            url: Key,
            components key: Key,
            at path: [any CodingKey],
            detailIfMissing: String = "Is required, or `components`."
        ) throws {
            let components = try container.decodeIfPresent(URLComponentsRequest.self, forKey: key)
            guard let components else {
                guard container.contains(url) else {
                    let place = JSONPointer.rendering(path + [url])
                    throw FieldError(pointer: place, .required, detailIfMissing)
                }
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

        /// Writes the form that it has.
        func encode<Key: CodingKey>(
            into container: inout KeyedEncodingContainer<Key>,
            url: Key,
            components key: Key
        ) throws {
            switch self {
            case .url(let text): try container.encode(text, forKey: url)
            case .components(let components): try container.encode(components, forKey: key)
            }
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
