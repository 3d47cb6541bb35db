/// The body of `POST …/cancel`, which may be omitted.
package struct CancelRequest: Decodable, Sendable {
    /// Whether the task leaves data from which another task can resume.
    package let produceResumeData: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        produceResumeData = try container.decodeIfPresent(Bool.self, forKey: .produceResumeData)
    }

    private enum CodingKeys: String, CodingKey {
        case produceResumeData = "produce_resume_data"
    }
}
