import ArgumentParser

/// `transferd audit`: who changed what or was refused.
struct Audit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read and verify the audit log.",
        subcommands: [VerifyAudit.self, ListAudit.self]
    )
}
