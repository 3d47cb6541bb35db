/// The body of `POST …/fail-next-attempt`.
public struct TestFailureRequest: Codable, Sendable {
    /// The code of the failure.
    public let code: String
    /// The status of the answer, for the code `http_status` and no other.
    public let httpStatus: Int?

    /// Creates a request.
    public init(code: String, httpStatus: Int? = nil) {
        self.code = code
        self.httpStatus = httpStatus
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        code = try container.decode(String.self, forKey: .code)
        httpStatus = try container.decodeIfPresent(Int.self, forKey: .httpStatus)
    }

    private enum CodingKeys: String, CodingKey {
        case code
        case httpStatus = "http_status"
    }
}
