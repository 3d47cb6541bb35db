extension TaskRequest: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONReader.Refusal) {
        var url: String??
        var components: URLComponentsRequest??
        var headers: [String: String]??
        var clientPersistedString: String??
        var earliestBeginAt: Timestamp??
        var autostart: Bool??
        var priority: Double??
        var destination: DestinationRequest??
        var resumeData: String??
        var options = OptionMembers()
        var kind: String??
        var method: String??
        var upload: UploadRequest??
        var body: BodyRequest??
        try reader.beginObject()
        while let key = try reader.nextName() {
            switch CodingKeys(stringValue: key) {
            case .url: try reader.read(into: &url)
            case .headers: try reader.read(into: &headers)
            case .clientPersistedString: try reader.read(into: &clientPersistedString)
            case .earliestBeginAt: try reader.read(into: &earliestBeginAt)
            case .autostart: try reader.read(into: &autostart)
            case .priority: try reader.read(into: &priority)
            case .destination: try reader.read(into: &destination)
            case .resumeData: try reader.read(into: &resumeData)
            case .kind: try reader.read(into: &kind)
            case .method: try reader.read(into: &method)
            case .components: try reader.read(into: &components)
            case .upload: try reader.read(into: &upload)
            case .body: try reader.read(into: &body)
            case nil: try options.read(key, from: &reader)
            }
        }
        switch (url ?? nil, components ?? nil) {
        case (let url?, nil): target = .url(url)
        case (nil, let components?): target = .components(components)
        default: throw JSONReader.Refusal()
        }
        self.headers = headers ?? nil
        self.clientPersistedString = clientPersistedString ?? nil
        self.earliestBeginAt = earliestBeginAt ?? nil
        self.autostart = autostart ?? nil
        self.priority = priority ?? nil
        self.destination = destination ?? nil
        self.resumeData = resumeData ?? nil
        self.options = options
        self.kind = kind ?? nil
        self.method = method ?? nil
        self.upload = upload ?? nil
        self.body = body ?? nil
    }
}
