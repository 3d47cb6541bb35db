/// One fault of a request: its place, a stable code, and a sentence.
public struct FieldError: Error, Hashable, Codable, Sendable {
    /// A JSON pointer into the request's body (RFC 6901); the empty pointer is the whole body.
    public let pointer: String?
    /// The name of the path or query parameter, when the fault is not in the body.
    public let parameter: String?
    /// The stable code as text, listed in `openapi.yaml`.
    public let codeName: String
    /// A sentence for the developer of the client, which never repeats what was sent.
    public let detail: String

    /// The kind of a fault; part of the API, never renamed.
    public enum Code: String, CaseIterable, Codable, Sendable {
        case required
        case unknownField = "unknown_field"
        case unknownParameter = "unknown_parameter"
        case wrongType = "wrong_type"
        case invalidValue = "invalid_value"
        case invalidDate = "invalid_date"
        case invalidURL = "invalid_url"
        case forbiddenAddress = "forbidden_address"
        case invalidHeader = "invalid_header"
        case forbiddenHeader = "forbidden_header"
        case tooManyHeaders = "too_many_headers"
        case clientStringTooLong = "client_string_too_long"
        case invalidDestination = "invalid_destination"
        case invalidIdentifier = "invalid_identifier"
        case invalidCursor = "invalid_cursor"
        case dataNeedsEphemeralSession = "data_needs_ephemeral_session"
        case sharedContainerRequired = "shared_container_required"
        case tooManyItems = "too_many_items"
        case noItems = "no_items"
    }

    /// Describes a fault in the body.
    public init(pointer: String, _ code: Code, _ detail: String) {
        self.pointer = pointer
        self.parameter = nil
        codeName = code.rawValue
        self.detail = detail
    }

    /// Describes a fault in the path or the query.
    public init(parameter: String, _ code: Code, _ detail: String) {
        self.pointer = nil
        self.parameter = parameter
        codeName = code.rawValue
        self.detail = detail
    }

    /// The stable code; nil for one that is newer than this release, which ``codeName`` names.
    public var code: Code? { Code(rawValue: codeName) }

    /// Returns the same fault in the body, found at `place` in a larger one.
    public func moved(to place: String) -> FieldError {
        FieldError(pointer: place + (pointer ?? ""), codeName: codeName, detail)
    }

    private init(pointer: String, codeName: String, _ detail: String) {
        self.pointer = pointer
        self.parameter = nil
        self.codeName = codeName
        self.detail = detail
    }

    private enum CodingKeys: String, CodingKey {
        case pointer, parameter, detail
        case codeName = "code"
    }
}
