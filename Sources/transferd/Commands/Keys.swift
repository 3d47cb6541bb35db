import ArgumentParser

/// `transferd keys`: creates, lists and revokes API keys.
struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage API keys.",
        subcommands: [CreateKey.self, ListKeys.self, RevokeKey.self]
    )

    /// The tenant of a service that has only one.
    static let tenantDefault = "default"
}
