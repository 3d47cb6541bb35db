import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl subscriptions`: lists the subscriptions.
struct Subscriptions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the subscriptions, and why one of them gets nothing."
    )

    @OptionGroup var options: ServiceOptions

    @Flag(help: "Print each subscription as JSON on a line.")
    var json = false

    mutating func run() async throws {
        let service = try options.service()
        try await Output.list(
            json: json,
            Table("SUBSCRIPTION", "SESSION", "ENABLED", "TYPES", "URL"),
            page: { try await service.subscriptions(after: $0) },
            row: { subscription in
                let since = subscription.disabled.map { "\($0.reason) since \($0.since.rfc3339)" }
                return [
                    subscription.id, subscription.sessionIdentifier ?? "", since ?? "yes",
                    subscription.eventTypes?.joined(separator: ",") ?? "all", subscription.url,
                ]
            }
        )
    }
}
