import Foundation

extension OpenAPIDocument {
    /// Returns the deviations of a request from the document.
    ///
    /// `path` may have a query. Parts that no operation describes are not judged.
    package func requestViolations(
        method: String,
        path: String,
        fields: [(String, String)],
        body: [UInt8]
    ) throws -> [String] {
        let parts = path.split(separator: "?", maxSplits: 1).map(String.init)
        guard let template = template(of: parts[0]), let item = root["paths"]?[template],
            let operation = item[method == "HEAD" ? "get" : method.lowercased()]
        else { return [] }
        let parameters = [item, operation].flatMap { $0["parameters"]?.array ?? [] }
            .map(schema.resolved)
        let names = Dictionary(
            fields.map { ($0.0.lowercased(), $0.1) },
            uniquingKeysWith: { "\($0), \($1)" }
        )
        return queryViolations(parameters, parts.count > 1 ? parts[1] : "")
            + headerViolations(parameters, names)
            + (try bodyViolations(operation["requestBody"], names["content-type"], body))
    }

    private func queryViolations(_ parameters: [OpenAPIValue], _ query: String) -> [String] {
        let known = parameters.filter { $0["in"]?.string == "query" }
        let items = query.split(separator: "&").map { item in
            item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { String($0).removingPercentEncoding ?? "" }
        }
        let missing = known.filter { parameter in
            parameter["required"] == .bool(true)
                && !items.contains { $0[0] == parameter["name"]?.string }
        }
        return missing.map { "lacks the parameter \($0["name"]?.string ?? "")" }
            + items.flatMap { item in
                guard let parameter = known.first(where: { $0["name"]?.string == item[0] }) else {
                    return ["the parameter \(item[0]) is not documented"]
                }
                return violations(of: item.count > 1 ? item[1] : "", for: parameter)
            }
    }

    private func headerViolations(
        _ parameters: [OpenAPIValue],
        _ fields: [String: String]
    ) -> [String] {
        parameters.filter { $0["in"]?.string == "header" }.flatMap { parameter in
            fields[parameter["name"]?.string?.lowercased() ?? ""].map {
                violations(of: $0, for: parameter)
            } ?? []
        }
    }

    /// Parses a parameter's text according to its schema, and checks it against the schema.
    private func violations(of text: String, for parameter: OpenAPIValue) -> [String] {
        let demand = schema.resolved(parameter["schema"] ?? .object([:]))
        let value: OpenAPIValue
        switch demand["type"]?.string {
        case "integer": value = Int64(text).map(OpenAPIValue.integer) ?? .string(text)
        case "boolean": value = Bool(text).map(OpenAPIValue.bool) ?? .string(text)
        case "array":
            let items = text.split(separator: ",", omittingEmptySubsequences: false)
            value = .array(items.map { .string(String($0)) })
        default: value = .string(text)
        }
        return schema.violations(of: value, against: demand, at: parameter["name"]?.string ?? "")
    }

    private func bodyViolations(
        _ description: OpenAPIValue?,
        _ type: String?,
        _ body: [UInt8]
    ) throws -> [String] {
        guard !body.isEmpty else {
            return description?["required"] == .bool(true) ? ["lacks a body"] : []
        }
        guard let content = description.map(schema.resolved)?["content"]?.object else {
            return ["has a body, and documents none"]
        }
        var name = type?.lowercased().split(separator: ";").first.map(String.init) ?? ""
        // The document says in words that every change may come as this type, too.
        if name == "application/merge-patch+json" { name = "application/json" }
        guard let media = content[name] ?? content["*/*"] else {
            return ["has a body of type \(name), and documents \(content.keys.sorted())"]
        }
        // In a body of lines, each line has an answer of its own.
        guard name == "application/json" else { return [] }
        return schema.violations(
            of: try OpenAPIValue(json: body),
            against: media["schema"] ?? .object([:])
        )
    }
}
