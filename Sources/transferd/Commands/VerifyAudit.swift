import ArgumentParser
import TransferStore

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
            """
    )

    @Option(help: "A block that was kept elsewhere, as 7:0123…, and has to be there.")
    var block: String?

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        if let block, AuditBlock(block) == nil {
            throw ValidationError("--block must be a number and 64 hexadecimal digits, as 7:0123….")
        }
    }

    func run() async throws {
        var isAltered = false
        try await Command.withStore(database) { database in
            let report = try await AuditStore(database).verify(kept: block.flatMap(AuditBlock.init))
            for finding in report.findings { print(finding) }
            isAltered = !report.findings.isEmpty
            print(
                """
                \(report.entries) entries in \(report.blocks) blocks, of which the first \
                \(report.removed) were removed for their age; \(report.unsealed) entries not yet sealed
                """
            )
            if report.end.number > 0 { print(report.end) }
        }
        if isAltered { throw ExitCode(1) }
    }
}
