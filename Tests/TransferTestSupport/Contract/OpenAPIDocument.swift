/// The document `openapi.yaml`, against which requests and answers are checked.
package struct OpenAPIDocument: Sendable {
    /// One method of one path.
    package struct Operation: Hashable, Sendable, CustomStringConvertible {
        /// The method in upper case.
        package let method: String
        /// The path, with `{name}` for parameters.
        package let path: String
        /// Whether the operation requires an API key.
        package let needsKey: Bool
        /// The scopes that the key needs.
        package let scopes: [String]
        /// The names of the parameters in the query.
        package let queryParameters: [String]

        package var description: String { "\(method) \(path)" }
    }

    /// The whole document.
    package let root: OpenAPIValue
    /// The checker of values against the document's schemas.
    package let schema: OpenAPISchema

    private static let methods = ["get", "put", "post", "delete", "patch", "head", "options"]

    /// Parses the document.
    package init(yaml: String) throws {
        root = try OpenAPIValue(yaml: yaml)
        schema = OpenAPISchema(document: root)
    }

    /// Every operation, in alphabetical order.
    package var operations: [Operation] {
        (root["paths"]?.object ?? [:]).flatMap { path, item in
            Self.methods.compactMap { method in
                item[method].map {
                    Operation(
                        method: method.uppercased(),
                        path: path,
                        needsKey: $0["security"]?.array?.isEmpty != true,
                        scopes: $0["security"]?.array?.first?["apiKey"]?.array?
                            .compactMap(\.string) ?? [],
                        queryParameters: queryParameters(of: [item, $0])
                    )
                }
            }
        }
        .sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    private func queryParameters(of items: [OpenAPIValue]) -> [String] {
        items.flatMap { $0["parameters"]?.array ?? [] }.map(schema.resolved)
            .filter { $0["in"]?.string == "query" }
            .compactMap { $0["name"]?.string }
    }

    /// Returns the names in `components/schemas/<name>/enum`, or deeper at `path`.
    package func enumeration(_ path: String...) -> [String] {
        path.reduce(root["components"]?["schemas"]) { $0?[$1] }?["enum"]?.array?
            .compactMap(\.string) ?? []
    }

    /// Returns the violations of a schema in `components/schemas`.
    package func violations(of json: [UInt8], schema name: String) throws -> [String] {
        let reference = OpenAPIValue.object(["$ref": .string("#/components/schemas/\(name)")])
        return schema.violations(of: try OpenAPIValue(json: json), against: reference)
    }

    /// Returns the template of a requested path, without its query.
    package func template(of path: String) -> String? {
        let steps = path.split(separator: "/", omittingEmptySubsequences: false)
        return (root["paths"]?.object ?? [:]).keys.sorted().first { template in
            let expected = template.split(separator: "/", omittingEmptySubsequences: false)
            return expected.count == steps.count
                && zip(expected, steps).allSatisfy { $0 == $1 || $0.hasPrefix("{") && !$1.isEmpty }
        }
    }

    /// Returns the deviations of an answer from the document.
    package func violations(
        method: String,
        path: String,
        status: Int,
        fields: [String: String],
        body: [UInt8]
    ) throws -> [String] {
        let isHead = method == "HEAD"
        let verb = isHead ? "get" : method.lowercased()
        guard let template = template(of: path),
            let operation = root["paths"]?[template]?[verb]
        else {
            // A request that no operation describes is answered with a problem all the same.
            return isHead ? [] : try violations(of: body, schema: "Problem")
        }
        guard let found = operation["responses"]?[String(status)] else {
            return ["\(method) \(template) documents no \(status)"]
        }
        let response = schema.resolved(found)
        return try fieldViolations(response, fields)
            + (isHead ? [] : bodyViolations(response, fields["content-type"], body))
    }

    private func fieldViolations(
        _ response: OpenAPIValue,
        _ fields: [String: String]
    ) throws -> [String] {
        (response["headers"]?.object ?? [:]).flatMap { name, header in
            guard let text = fields[name.lowercased()] else {
                // Fields that not every answer with a given status has.
                let optional = [
                    "accept-ranges", "content-encoding", "idempotency-replayed",
                    "preference-applied", "repr-digest", "retry-after", "upload-offset",
                    "www-authenticate",
                ]
                return optional.contains(name.lowercased()) ? [] : ["lacks the header \(name)"]
            }
            let demand = schema.resolved(header)["schema"] ?? .object([:])
            let isNumber = demand["type"]?.string == "integer"
            let value = isNumber ? Int64(text).map(OpenAPIValue.integer) : .string(text)
            return schema.violations(of: value ?? .string(text), against: demand, at: name)
        }
    }

    private func bodyViolations(
        _ response: OpenAPIValue,
        _ type: String?,
        _ body: [UInt8]
    ) throws -> [String] {
        guard let content = response["content"]?.object else {
            return body.isEmpty ? [] : ["has a body, and documents none"]
        }
        if content["*/*"] != nil { return [] }
        guard let type, let media = content[type] else {
            return ["has the type \(type ?? "none"), and documents \(content.keys.sorted())"]
        }
        if type == "application/x-ndjson" {
            return try body.split(separator: UInt8(ascii: "\n")).flatMap { line in
                schema.violations(
                    of: try OpenAPIValue(json: Array(line)),
                    against: media["schema"] ?? .object([:])
                )
            }
        }
        guard type.hasSuffix("json") else { return [] }
        return schema.violations(
            of: try OpenAPIValue(json: body),
            against: media["schema"] ?? .object([:])
        )
    }
}
