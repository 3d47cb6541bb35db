/// The body of `POST …/cancel`, which may be omitted.
public struct CancelRequest: Codable, Sendable {
    /// Whether the task leaves data from which another task can resume.
    public let produceResumeData: Bool?

    /// Creates a request; what is nil is absent.
    public init(produceResumeData: Bool? = nil) { self.produceResumeData = produceResumeData }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        produceResumeData = try container.decodeIfPresent(Bool.self, forKey: .produceResumeData)
    }

    private enum CodingKeys: String, CodingKey {
        case produceResumeData = "produce_resume_data"
    }
}
