import ArgumentParser
import Foundation
import TransferStore
import TransferWire

/// `transferd audit list`: lists the audit log.
struct ListAudit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List entries of the audit log, the newest first.",
        discussion: """
            One line of JSON for each. An entry without status was written with the change itself, \
            before there was an answer; one with status is of a refused call, of one that changed \
            nothing, or of one that ended with a problem.
            """
    )

    @Option(help: "The most entries to list.")
    var limit = 100

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit must be at least 1.") }
    }

    /// An entry as it is printed.
    private struct Line: Encodable {
        let recordedAt: String
        let actor: String?
        let tenant: String?
        let peer: String?
        let action: String
        let object: String
        let status: Int?
        let code: String?
        let requestID: String?

        private enum CodingKeys: String, CodingKey {
            case actor, tenant, peer, action, object, status, code
            case recordedAt = "recorded_at"
            case requestID = "request_id"
        }

        init(_ record: AuditRecord) {
            recordedAt = Timestamp(record.recordedAt).rfc3339
            actor = record.entry.actor
            tenant = record.entry.tenant.map { "\($0)" }
            peer = record.entry.peer
            action = record.entry.action
            object = record.entry.object
            status = record.entry.status
            code = record.entry.code
            requestID = record.entry.requestID?.uuidString.lowercased()
        }
    }

    func run() async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try await Command.withStore(database) { database in
            let store = AuditStore(database)
            var last: AuditRecord.Position?
            var rest = limit
            while rest > 0 {
                let size = min(rest, Command.pageMax)
                let records = try await store.entries(before: last, limit: size)
                for record in records {
                    print(String(decoding: try encoder.encode(Line(record)), as: UTF8.self))
                }
                rest -= records.count
                last = records.last?.position
                if records.count < size { return }
            }
        }
    }
}
