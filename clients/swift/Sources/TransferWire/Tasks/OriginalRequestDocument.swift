/// What a client asked for with a task.
public struct OriginalRequestDocument: Codable, Sendable {
    /// The method that the client named.
    public let method: String?
    /// The names of the headers; their values are not told again.
    public let headerNames: [String]
    /// The source of the bytes that are sent.
    public let upload: Upload?
    /// The options that the task sets.
    public let options: OptionMembers

    /// Creates the value from its parts.
    public init(
        method: String?,
        headerNames: [String],
        upload: Upload?,
        options: OptionMembers
    ) {
        self.method = method
        self.headerNames = headerNames
        self.upload = upload
        self.options = options
    }

    /// The source of the bytes that are sent, without the bytes.
    public struct Upload: Codable, Sendable {
        /// The path of a file of the tenant's container.
        public let path: String?
        /// True if the client brings the bytes to the service.
        public let staged: Bool?
        /// The number of bytes that came with the task.
        public let size: Int64?
        /// Where the bytes lie otherwise.
        public let copy: Copy?

        /// Creates the value from its parts.
        public init(
            path: String? = nil,
            staged: Bool? = nil,
            size: Int64? = nil,
            copy: Copy? = nil
        ) {
            self.path = path
            self.staged = staged
            self.size = size
            self.copy = copy
        }
    }

    /// What an upload copies: one of ``task`` and ``url``.
    public struct Copy: Codable, Sendable {
        /// The download whose result is sent.
        public let task: String?
        /// The address whose content is sent, without query and fragment.
        public let url: String?
        /// The names of the headers of the request for ``url``; nil for a task.
        public let headerNames: [String]?

        /// Creates the value from its parts.
        public init(task: String? = nil, url: String? = nil, headerNames: [String]? = nil) {
            self.task = task
            self.url = url
            self.headerNames = headerNames
        }

        private enum CodingKeys: String, CodingKey {
            case task, url
            case headerNames = "header_names"
        }
    }

    /// Reads the members of an object.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        method = try container.decodeIfPresent(String.self, forKey: .method)
        headerNames = try container.decode([String].self, forKey: .headerNames)
        upload = try container.decodeIfPresent(Upload.self, forKey: .upload)
        options = try OptionMembers(from: decoder, besides: CodingKeys.self)
    }

    /// Writes the members of an object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(method, forKey: .method)
        try container.encode(headerNames, forKey: .headerNames)
        try container.encodeIfPresent(upload, forKey: .upload)
        try options.encode(to: encoder)
    }

    private enum CodingKeys: String, CodingKey {
        case method, upload
        case headerNames = "header_names"
    }
}
