import Foundation

/// A checker of values against the part of JSON Schema that `openapi.yaml` uses.
///
/// An unknown keyword is an error too; otherwise a schema could demand something that nobody
/// checks.
package struct OpenAPISchema: Sendable {
    /// The document in which `$ref` is resolved.
    let document: OpenAPIValue

    private static let annotations: Set<String> = [
        "description", "default", "contentMediaType", "contentEncoding", "title", "example",
        "deprecated", "writeOnly",
        // They belong to `if`.
        "then", "else",
    ]

    /// Returns the violations in `value`, one line each.
    package func violations(
        of value: OpenAPIValue,
        against schema: OpenAPIValue,
        at path: String = ""
    ) -> [String] {
        guard let keywords = schema.object else { return ["\(path): the schema is no object"] }
        return keywords.sorted { $0.key < $1.key }.flatMap { keyword, argument in
            switch keyword {
            case "$ref": reference(value, argument, path)
            case "oneOf", "anyOf": alternatives(value, keyword, argument.array ?? [], path)
            case "allOf":
                (argument.array ?? []).flatMap { violations(of: value, against: $0, at: path) }
            case "if": condition(value, argument, schema, path)
            case "type": type(value, argument, path)
            case "properties", "required", "additionalProperties", "unevaluatedProperties",
                "minProperties", "maxProperties":
                members(value, keyword, argument, schema, path)
            case "items", "minItems", "maxItems", "uniqueItems":
                items(value, keyword, argument, path)
            default: scalar(value, keyword, argument, path)
            }
        }
    }

    /// Returns the value that a `$ref` refers to.
    package func resolved(_ value: OpenAPIValue) -> OpenAPIValue {
        guard let reference = value["$ref"]?.string else { return value }
        let target = reference.dropFirst("#/".count).split(separator: "/")
            .reduce(document as OpenAPIValue?) { node, step in node?[String(step)] }
        return target.map(resolved) ?? .null
    }

    private func reference(
        _ value: OpenAPIValue,
        _ argument: OpenAPIValue,
        _ path: String
    ) -> [String] {
        violations(of: value, against: resolved(.object(["$ref": argument])), at: path)
    }

    private func alternatives(
        _ value: OpenAPIValue,
        _ keyword: String,
        _ schemas: [OpenAPIValue],
        _ path: String
    ) -> [String] {
        let results = schemas.map { violations(of: value, against: $0, at: path) }
        let count = results.count(where: \.isEmpty)
        let isGood = keyword == "oneOf" ? count == 1 : count > 0
        return isGood ? [] : ["\(path): \(keyword) has \(count) matches"] + results.flatMap { $0 }
    }

    private func condition(
        _ value: OpenAPIValue,
        _ argument: OpenAPIValue,
        _ schema: OpenAPIValue,
        _ path: String
    ) -> [String] {
        let holds = violations(of: value, against: argument, at: path).isEmpty
        return schema[holds ? "then" : "else"].map {
            violations(of: value, against: $0, at: path)
        } ?? []
    }

    private func type(
        _ value: OpenAPIValue,
        _ argument: OpenAPIValue,
        _ path: String
    ) -> [String] {
        let allowed = (argument.array ?? [argument]).compactMap(\.string)
        let actual: [String] =
            switch value {
            case .null: ["null"]
            case .bool: ["boolean"]
            case .integer: ["integer", "number"]
            case .number: ["number"]
            case .string: ["string"]
            case .array: ["array"]
            case .object: ["object"]
            }
        return allowed.contains(where: actual.contains)
            ? [] : ["\(path): is \(actual), not \(allowed)"]
    }

    private func members(
        _ value: OpenAPIValue,
        _ keyword: String,
        _ argument: OpenAPIValue,
        _ schema: OpenAPIValue,
        _ path: String
    ) -> [String] {
        guard let object = value.object else { return [] }
        switch keyword {
        case "properties":
            return (argument.object ?? [:]).flatMap { name, schema in
                object[name].map {
                    violations(of: $0, against: schema, at: "\(path)/\(name)")
                } ?? []
            }
        case "required":
            return (argument.array ?? []).compactMap(\.string).filter { object[$0] == nil }
                .map { "\(path): lacks \($0)" }
        case "additionalProperties", "unevaluatedProperties":
            let known =
                keyword == "additionalProperties"
                ? schema["properties"]?.object ?? [:] : properties(of: schema)
            return object.filter { known[$0.key] == nil }.flatMap { name, member in
                argument == .bool(false)
                    ? ["\(path): \(name) is not in the schema"]
                    : violations(of: member, against: argument, at: "\(path)/\(name)")
            }
        case "minProperties":
            let least = Int(argument.integer ?? 0)
            return object.count >= least ? [] : ["\(path): fewer than \(least) members"]
        default:
            let most = Int(argument.integer ?? 0)
            return object.count <= most ? [] : ["\(path): more than \(most) members"]
        }
    }

    /// Returns the properties of a schema and of all that it is composed of.
    package func properties(of schema: OpenAPIValue) -> [String: OpenAPIValue] {
        let schema = resolved(schema)
        let parts = (schema["allOf"]?.array ?? []).map(properties)
        return parts.reduce(schema["properties"]?.object ?? [:]) { all, part in
            all.merging(part) { first, _ in first }
        }
    }

    private func items(
        _ value: OpenAPIValue,
        _ keyword: String,
        _ argument: OpenAPIValue,
        _ path: String
    ) -> [String] {
        guard let array = value.array else { return [] }
        let bound = Int(argument.integer ?? 0)
        switch keyword {
        case "items":
            return array.enumerated().flatMap { index, item in
                violations(of: item, against: argument, at: "\(path)/\(index)")
            }
        case "minItems": return array.count >= bound ? [] : ["\(path): fewer than \(bound)"]
        case "maxItems": return array.count <= bound ? [] : ["\(path): more than \(bound)"]
        default:
            let isUnique = array.indices.allSatisfy { !array[..<$0].contains(array[$0]) }
            return isUnique ? [] : ["\(path): repeats an item"]
        }
    }

    private func scalar(
        _ value: OpenAPIValue,
        _ keyword: String,
        _ argument: OpenAPIValue,
        _ path: String
    ) -> [String] {
        let isGood: Bool
        switch keyword {
        case "enum": isGood = (argument.array ?? []).contains(value)
        case "const": isGood = argument == value
        case "minimum": isGood = value.double.map { $0 >= argument.double ?? 0 } ?? true
        case "maximum": isGood = value.double.map { $0 <= argument.double ?? 0 } ?? true
        // Both count characters as JSON Schema does: Unicode scalars.
        case "minLength":
            isGood = value.string.map { $0.unicodeScalars.count >= argument.integer ?? 0 } ?? true
        case "maxLength":
            isGood = value.string.map { $0.unicodeScalars.count <= argument.integer ?? 0 } ?? true
        case "pattern":
            isGood = value.string.map { Self.matches($0, argument.string ?? "") } ?? true
        case "format":
            isGood = value.string.map { Self.hasFormat($0, argument.string ?? "") } ?? true
        default:
            return Self.annotations.contains(keyword) ? [] : ["\(path): unknown keyword \(keyword)"]
        }
        return isGood ? [] : ["\(path): \(value) violates \(keyword) \(argument)"]
    }

    /// Returns whether a part of `text` matches `pattern`, byte by byte where it is ASCII
    /// (ECMA-262).
    private static func matches(_ text: String, _ pattern: String) -> Bool {
        guard let regex = try? Regex(pattern) else { return false }
        return text.contains(regex.matchingSemantics(.unicodeScalar).dotMatchesNewlines())
    }

    private static func hasFormat(_ text: String, _ format: String) -> Bool {
        switch format {
        case "date-time":
            text.wholeMatch(
                of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/
            ) != nil
        case "uuid": UUID(uuidString: text) != nil && text == text.lowercased()
        default: false
        }
    }
}
