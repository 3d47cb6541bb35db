import Foundation
import Yams

/// A value of JSON or of this project's YAML.
package enum OpenAPIValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([OpenAPIValue])
    case object([String: OpenAPIValue])

    /// The member of an object with that name; nil when there is none.
    package subscript(key: String) -> OpenAPIValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The value of a string; nil for any other value.
    package var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The elements of an array; nil for any other value.
    package var array: [OpenAPIValue]? {
        guard case .array(let items) = self else { return nil }
        return items
    }

    /// The members of an object; nil for any other value.
    package var object: [String: OpenAPIValue]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    package var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }

    package var integer: Int64? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// Reads JSON.
    package init(json: [UInt8]) throws {
        self = try JSONDecoder().decode(OpenAPIValue.self, from: Data(json))
    }

    /// Reads YAML.
    package init(yaml: String) throws {
        guard let node = try Yams.compose(yaml: yaml) else {
            self = .null
            return
        }
        self = OpenAPIValue(node)
    }

    private init(_ node: Node) {
        switch node {
        case .sequence(let items): self = .array(items.map(OpenAPIValue.init))
        case .mapping(let members):
            self = .object(
                Dictionary(
                    members.map { ($0.key.string ?? "", OpenAPIValue($0.value)) },
                    uniquingKeysWith: { first, _ in first }
                )
            )
        case .scalar, .alias:
            switch node.any {
            case let value as Bool: self = .bool(value)
            case let value as Int: self = .integer(Int64(value))
            case let value as Double: self = .number(value)
            case let value as String: self = .string(value)
            default: self = .null
            }
        }
    }
}

extension OpenAPIValue: Decodable {
    package init(from decoder: any Decoder) throws {
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
        } else if let value = try? container.decode([OpenAPIValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: OpenAPIValue].self))
        }
    }
}

extension OpenAPIValue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let items): try container.encode(items)
        case .object(let members): try container.encode(members)
        }
    }

    /// Returns a copy with the member at a JSON pointer replaced, making missing objects on the
    /// way.
    package func setting(_ pointer: String, to value: OpenAPIValue) -> OpenAPIValue {
        let steps = pointer.split(separator: "/", maxSplits: 1).map(String.init)
        guard let name = steps.first else { return value }
        var members = object ?? [:]
        members[name] = (members[name] ?? .object([:]))
            .setting(steps.count > 1 ? steps[1] : "", to: value)
        return .object(members)
    }
}
