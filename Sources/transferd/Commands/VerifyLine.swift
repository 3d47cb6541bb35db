import Foundation
import TransferEngine
import TransferModel
import TransferStore

/// A line that `transferd verify` prints: a finding, or the summary after the last one.
struct VerifyLine: Encodable {
    private let kind: String
    private var tenant: String?
    private var client: String?
    private var session: String?
    private var task: String?
    private var path: String?
    private var name: String?
    private var kept: Int64?
    private var actual: Int64?
    private var results: Int?
    private var found: Int?
    private var repaired: Int?

    init(_ finding: Inspection.Finding) {
        switch finding {
        case .contentGone(let result):
            kind = "content_gone"
            note(result)
        case .contentFound(let result):
            kind = "content_found"
            note(result)
        case .fileOfNobody(let tenant, let path):
            kind = "file_of_nobody"
            self.tenant = tenant.description
            self.path = path
        case .unequalCount(let difference):
            kind = "unequal_count"
            note(difference)
        }
    }

    init(_ summary: Inspection.Summary) {
        kind = "summary"
        results = summary.results
        found = summary.found
        repaired = summary.repaired
    }

    /// The line as JSON, without fields that have no value.
    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(self)
        }
    }

    /// The line as text for a person.
    var text: String {
        let place = [tenant, client, session, path].compactMap { $0 }.joined(separator: " ")
        return switch kind {
        case "content_gone": "gone      the file of task \(task ?? "") at \(place)"
        case "content_found": "returned  the file of task \(task ?? "") at \(place)"
        case "file_of_nobody": "nobody's  \(place)"
        case "summary":
            "\(found ?? 0) found, \(repaired ?? 0) repaired; \(results ?? 0) results looked at"
        default:
            "unequal   \(name ?? "") of \(place.isEmpty ? "all tenants" : place): "
                + "\(kept ?? 0) kept, \(actual ?? 0) there"
        }
    }

    private mutating func note(_ result: StoredResult) {
        tenant = result.tenant.description
        task = result.task.description
        path = result.path
    }

    private mutating func note(_ difference: CountDifference) {
        name = difference.name
        kept = difference.kept
        actual = difference.actual
        switch difference.subject {
        case .session(let tenant, let client, let identifier):
            self.tenant = tenant.description
            self.client = client.name
            session = identifier
        case .tenant(let tenant): self.tenant = tenant.description
        case .allTenants: break
        }
    }
}
