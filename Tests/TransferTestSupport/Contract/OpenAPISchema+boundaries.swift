/// A value at the edge of what a schema allows, or just past it.
package struct BoundaryValue: Sendable {
    /// The value.
    package let value: OpenAPIValue
    /// Whether the schema allows it.
    package let isValid: Bool
}

extension OpenAPISchema {
    /// Returns the schemas of an object's members, by JSON pointer, including members of members.
    package func members(
        of schema: OpenAPIValue,
        at pointer: String = ""
    ) -> [String: OpenAPIValue] {
        properties(of: present(schema)).reduce(into: [:]) { all, member in
            let place = "\(pointer)/\(member.key)"
            all[place] = member.value
            all.merge(members(of: member.value, at: place)) { first, _ in first }
        }
    }

    /// Returns values at the edges of a schema, one for each keyword that bounds it, and one of
    /// another type.
    package func boundaries(of schema: OpenAPIValue) -> [BoundaryValue] {
        let demand = present(schema)
        let isNullable = violations(of: .null, against: schema).isEmpty
        var values = [BoundaryValue(value: .null, isValid: isNullable)]
        func add(_ value: OpenAPIValue, _ isValid: Bool) {
            values.append(BoundaryValue(value: value, isValid: isValid))
        }
        switch demand["type"]?.string ?? names(of: demand["type"]).first {
        case "integer":
            if let least = demand["minimum"]?.integer { add(.integer(least), true) }
            if let least = demand["minimum"]?.integer { add(.integer(least - 1), false) }
            if let most = demand["maximum"]?.integer { add(.integer(most), true) }
            if let most = demand["maximum"]?.integer { add(.integer(most + 1), false) }
            add(.number(1.5), false)
            add(.string("1"), false)
        case "number":
            if let least = demand["minimum"]?.double { add(.number(least), true) }
            if let least = demand["minimum"]?.double { add(.number(least - 0.01), false) }
            if let most = demand["maximum"]?.double { add(.number(most), true) }
            if let most = demand["maximum"]?.double { add(.number(most + 1), false) }
            add(.string("1"), false)
        case "boolean":
            add(.bool(true), true)
            add(.bool(false), true)
            add(.string("true"), false)
            add(.integer(1), false)
        case "string":
            values += strings(demand)
        case "array":
            add(.object([:]), false)
            add(.array(Array(repeating: .object([:]), count: 1)), false)
        default:
            let stranger = OpenAPIValue.object(["no such member": .bool(true)])
            for value in [.array([]), stranger] {
                add(value, violations(of: value, against: demand).isEmpty)
            }
        }
        return values
    }

    private func strings(_ demand: OpenAPIValue) -> [BoundaryValue] {
        var values = [
            BoundaryValue(value: .integer(1), isValid: false),
            BoundaryValue(value: .array([]), isValid: false),
        ]
        func add(_ text: String, _ isValid: Bool) {
            values.append(BoundaryValue(value: .string(text), isValid: isValid))
        }
        if let names = demand["enum"]?.array {
            for name in names.compactMap(\.string) { add(name, true) }
            add("no such value", false)
        } else if demand["pattern"] != nil {
            add("\u{7F}", false)
        } else if demand["format"]?.string == "date-time" {
            add("2026-03-01T00:00:00Z", true)
            add("yesterday", false)
        } else if demand["format"]?.string == "uuid" {
            add("x", false)
        } else {
            if let least = demand["minLength"]?.integer {
                add(String(repeating: "a", count: Int(least)), true)
                add(String(repeating: "a", count: Int(least) - 1), false)
            }
            if let most = demand["maxLength"]?.integer {
                add(String(repeating: "a", count: Int(most)), true)
                add(String(repeating: "a", count: Int(most) + 1), false)
            }
        }
        return values
    }

    /// Returns a schema without the alternative that it may be null.
    private func present(_ schema: OpenAPIValue) -> OpenAPIValue {
        let demand = resolved(schema)
        let others = (demand["oneOf"]?.array ?? []).filter { $0["type"]?.string != "null" }
        guard demand["type"] == nil, others.count == 1 else { return demand }
        return resolved(others[0])
    }

    private func names(of type: OpenAPIValue?) -> [String] {
        (type?.array ?? []).compactMap(\.string).filter { $0 != "null" }
    }
}
