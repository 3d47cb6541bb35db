/// One download as a client asks for it.
package struct TaskRequest: Decodable, Sendable {
    package let url: String
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

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(
            keyedBy: CodingKeys.self,
            or: OptionsRequest.CodingKeys.self
        )
        url = try container.decode(String.self, forKey: .url)
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
    }

    private enum CodingKeys: String, CodingKey {
        case url, headers, autostart, priority, destination, checksums
        case expectedSize = "expected_size"
        case clientPersistedString = "client_persisted_string"
        case earliestBeginAt = "earliest_begin_at"
        case resumeData = "resume_data"
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

/// The body of `POST …/tasks`: one download or an array of them.
package struct SubmitRequest: Decodable, Sendable {
    /// Tasks of one request.
    package static let tasksMax = 1000

    /// Each on its own, in the order of the request.
    package let tasks: [Checked<TaskRequest>]
    /// Whether the body was an array, and the answer is one too.
    package let isBatch: Bool

    package init(from decoder: any Decoder) throws {
        guard var container = try? decoder.unkeyedContainer() else {
            tasks = [try Checked<TaskRequest>(from: decoder)]
            isBatch = false
            return
        }
        guard (container.count ?? 0) <= Self.tasksMax else {
            throw FieldError(
                pointer: "",
                .tooManyItems,
                "At most \(Self.tasksMax) tasks fit in one request."
            )
        }
        var tasks: [Checked<TaskRequest>] = []
        tasks.reserveCapacity(container.count ?? 0)
        while !container.isAtEnd {
            tasks.append(try container.decode(Checked<TaskRequest>.self))
        }
        guard !tasks.isEmpty else {
            throw FieldError(pointer: "", .noItems, "An array needs at least one task.")
        }
        self.tasks = tasks
        isBatch = true
    }
}
