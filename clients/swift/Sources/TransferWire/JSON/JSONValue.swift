/// Any JSON value.
public enum JSONValue: Codable, Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// Returns this value as changed by `patch`: JSON Merge Patch (RFC 7396, section 2).
    ///
    /// - Parameters:
    ///   - patch: the members to be changed, and null for those to be removed.
    ///   - keepsNulls: whether removed members are there with null, for a reader that takes null
    ///     for absence and is to see all names.
    /// - Returns: the changed value.
    public func merged(with patch: JSONValue, keepsNulls: Bool = false) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [String: JSONValue] = [:]
        if case .object(let current) = self { members = current }
        for (name, change) in changes {
            let isRemoved = change == .null && !keepsNulls
            members[name] =
                isRemoved
                ? nil
                : (members[name] ?? .null).merged(with: change, keepsNulls: keepsNulls)
        }
        return .object(members)
    }
}
