import ArgumentParser
import Foundation
import TransferEngine
import TransferStore
import TransferWire

/// `transferd audit verify`: tells whether the audit log is as it was written.
struct VerifyAudit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare the audit log with its chain of digests.",
        discussion: """
            Prints each thing that is not as it was sealed, and at the end how far the chain goes. Ends \
            with 1 if anything was altered. Whoever may write to the database can also make a new chain: \
            keep what this prints, or the lines "audit log sealed" of the service's log, elsewhere, and \
            name the last of them with --block.

            Entries may be removed once their block is as old as --audit-retention; younger blocks \
            without entries are printed, too. For as many days after the service got a longer \
            retention, name the former one.
            """
    )

    @Option(help: "A block that was kept elsewhere, as 7:0123…, and has to be there.")
    var block: String?

    @Option(
        help: """
            How many days the service keeps entries at least, 1 to 3,650; 90. \
            [TRANSFERD_AUDIT_RETENTION]
            """
    )
    var auditRetention: Int?

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        if let block, AuditBlock(block) == nil {
            throw ValidationError("--block must be a number and 64 hexadecimal digits, as 7:0123….")
        }
    }

    func run() async throws {
        let retention = try retention()
        var isAltered = false
        try await Command.withStore(database) { database in
            let report = try await AuditStore(database).verify(
                kept: block.flatMap(AuditBlock.init),
                retention: retention
            )
            for finding in report.findings { print(finding) }
            isAltered = !report.findings.isEmpty
            print(Self.summary(of: report))
            if report.end.number > 0 { print(report.end) }
        }
        if isAltered { throw ExitCode(1) }
    }

    /// Returns the time for which the service keeps entries.
    private func retention() throws -> Duration {
        var reader = SettingsReader(environment: ProcessInfo.processInfo.environment)
        let retention = reader.days(
            auditRetention,
            "TRANSFERD_AUDIT_RETENTION",
            in: Pruner.auditRetentionRangeInDays,
            default: Pruner.auditRetentionDefaultInDays
        )
        if !reader.problems.isEmpty { throw ConfigurationError(problems: reader.problems) }
        return retention
    }

    private static func summary(of report: AuditReport) -> String {
        var parts = ["\(report.entries) entries in \(report.blocks) blocks"]
        if let sealedAt = report.removedSealedAt {
            parts.append(
                """
                those of the first \(report.removed) are removed, of which the last was sealed at \
                \(Timestamp(sealedAt).rfc3339)
                """
            )
        }
        parts.append("\(report.unsealed) entries not yet sealed")
        return parts.joined(separator: "; ")
    }
}
