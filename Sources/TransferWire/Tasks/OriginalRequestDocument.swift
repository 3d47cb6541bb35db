/// What a client asked for with a task.
package struct OriginalRequestDocument: Codable, Sendable {
    /// The method that the client named.
    package let method: String?
    /// The names of the headers; their values are not told again.
    package let headerNames: [String]
    /// The source of the bytes that are sent.
    package let upload: Upload?
    /// The options that the task sets.
    package let options: OptionMembers

    package init(
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
    package struct Upload: Codable, Sendable {
        /// The path of a file of the tenant's container.
        package let path: String?
        /// True if the client brings the bytes to the service.
        package let staged: Bool?
        /// The number of bytes that came with the task.
        package let size: Int64?

        package init(path: String? = nil, staged: Bool? = nil, size: Int64? = nil) {
            self.path = path
            self.staged = staged
            self.size = size
        }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        method = try container.decodeIfPresent(String.self, forKey: .method)
        headerNames = try container.decode([String].self, forKey: .headerNames)
        upload = try container.decodeIfPresent(Upload.self, forKey: .upload)
        options = try OptionMembers(from: decoder, besides: CodingKeys.self)
    }

    package func encode(to encoder: any Encoder) throws {
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
