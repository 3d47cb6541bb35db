import ArgumentParser
import Foundation
import TransferHTTP
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
                    let document = AuditEntryDocument(record, withTenant: true)
                    print(String(decoding: try encoder.encode(document), as: UTF8.self))
                }
                rest -= records.count
                last = records.last?.position
                if records.count < size { return }
            }
        }
    }
}
