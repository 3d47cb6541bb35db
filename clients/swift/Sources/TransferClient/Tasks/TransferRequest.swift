public import TransferWire

/// What a task asks of its origin, as `URLRequest` does, and what the service does with it.
public struct TransferRequest: Sendable {
    /// The URL.
    public var url: String
    /// The method; nil for `GET`, and for `PUT` in uploads.
    public var httpMethod: String?
    /// The header fields; they take precedence over those of the session.
    public var allHTTPHeaderFields: [String: String]?
    /// The bytes that a download or a data task sends.
    public var httpBody: [UInt8]?
    /// The relative path of the result in the tenant's container; without one, the service
    /// chooses where it keeps the result.
    public var destination: String?
    /// Whether an existing file at the destination is replaced; otherwise the task fails.
    public var overwritesDestination = false
    /// The data left by a cancelled task, from which this one resumes.
    public var resumeData: String?
    /// Further options, such as `segments_max`, by their names in `openapi.yaml`.
    public var options: [String: JSONValue] = [:]

    /// Asks for a URL.
    public init(url: String) { self.url = url }

    /// Sets a header field.
    public mutating func setValue(_ value: String, forHTTPHeaderField field: String) {
        allHTTPHeaderFields = (allHTTPHeaderFields ?? [:]).merging([field: value]) { $1 }
    }
}
