/// One task as a client asks for it.
package struct TaskRequest: Decodable, Sendable {
    /// What is fetched.
    package let target: Target
    package let headers: [String: String]?
    package let clientPersistedString: String?
    package let earliestBeginAt: Timestamp?
    package let autostart: Bool?
    package let priority: Double?
    package let destination: DestinationRequest?
    package let resumeData: String?
    package let expectedSize: Int64?
    /// Hexadecimal by algorithm.
    package let checksums: [String: String]?
    package let options: OptionsRequest
    package let kind: String?
    package let method: String?
    package let upload: UploadRequest?
    /// In base64.
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

    /// The two ways to write an address.
    package enum Target: Sendable {
        case url(String)
        case components(URLComponentsRequest)

        /// Reads the one of the two that is there.
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

/// Where the bytes of an upload come from: one of the three.
package struct UploadRequest: Decodable, Sendable {
    package let path: String?
    /// In base64.
    package let data: String?
    package let staged: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        path = try container.decodeIfPresent(String.self, forKey: .path)
        data = try container.decodeIfPresent(String.self, forKey: .data)
        staged = try container.decodeIfPresent(Bool.self, forKey: .staged)
    }

    private enum CodingKeys: CodingKey {
        case path, data, staged
    }
}

/// The body of `PATCH /v1/tasks/{id}`: what is absent stays, what is null is cleared.
package struct TaskPatchRequest: Decodable, Sendable {
    package let clientPersistedString: String??
    package let earliestBeginAt: Timestamp??
    package let priority: Double?
    package let credential: String??
    package let bytesPerSecondMax: Int64??

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        clientPersistedString = try container.decodeIfNamed(
            String.self,
            forKey: .clientPersistedString
        )
        earliestBeginAt = try container.decodeIfNamed(Timestamp.self, forKey: .earliestBeginAt)
        priority = try container.decodeIfPresent(Double.self, forKey: .priority)
        credential = try container.decodeIfNamed(String.self, forKey: .credential)
        bytesPerSecondMax = try container.decodeIfNamed(Int64.self, forKey: .bytesPerSecondMax)
    }

    private enum CodingKeys: String, CodingKey {
        case priority, credential
        case bytesPerSecondMax = "bytes_per_second_max"
        case clientPersistedString = "client_persisted_string"
        case earliestBeginAt = "earliest_begin_at"
    }
}

extension KeyedDecodingContainer {
    /// Nil when there is no such name; a nil within when its value is null.
    func decodeIfNamed<Value: Decodable>(
        _ type: Value.Type,
        forKey key: Key
    ) throws -> Value?? {
        guard contains(key) else { return nil }
        return .some(try decodeIfPresent(type, forKey: key))
    }
}

/// The body of `POST …/cancel`, which may be left out.
package struct CancelRequest: Decodable, Sendable {
    package let produceResumeData: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        produceResumeData = try container.decodeIfPresent(Bool.self, forKey: .produceResumeData)
    }

    private enum CodingKeys: String, CodingKey {
        case produceResumeData = "produce_resume_data"
    }
}

/// Where a client wants a result.
package struct DestinationRequest: Decodable, Sendable {
    package let path: String
    package let overwrite: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        path = try container.decode(String.self, forKey: .path)
        overwrite = try container.decodeIfPresent(Bool.self, forKey: .overwrite)
    }

    private enum CodingKeys: CodingKey {
        case path, overwrite
    }
}

/// The body of `POST …/tasks`: one task or an array of them.
package struct SubmitRequest: Sendable {
    /// Tasks of one request.
    package static let tasksMax = 1000

    /// Each on its own, in the order of the request.
    package let tasks: [Checked<TaskRequest>]
    /// Whether the body was an array, and the answer is one too.
    package let isBatch: Bool

    /// Reads a body task by task: what a decoder makes of JSON is some times as large, and so there is
    /// never more of that than of one task.
    package init(json bytes: [UInt8]) throws(WireDecoder.Failure) {
        guard let elements = try WireDecoder.elements(of: bytes) else {
            tasks = [try WireDecoder.decode(Checked<TaskRequest>.self, checked: bytes[...])]
            isBatch = false
            return
        }
        guard elements.count <= Self.tasksMax else {
            throw .invalid(
                FieldError(
                    pointer: "",
                    .tooManyItems,
                    "At most \(Self.tasksMax) tasks fit in one request."
                )
            )
        }
        guard !elements.isEmpty else {
            throw .invalid(
                FieldError(pointer: "", .noItems, "An array needs at least one task.")
            )
        }
        var tasks: [Checked<TaskRequest>] = []
        tasks.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            let task = try WireDecoder.decode(
                Checked<TaskRequest>.self,
                checked: bytes[element]
            )
            tasks.append(task.moved(to: "/\(index)"))
        }
        self.tasks = tasks
        isBatch = true
    }
}
