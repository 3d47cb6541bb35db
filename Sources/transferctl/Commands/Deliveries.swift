import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl deliveries`: messages that were not accepted at the first attempt.
struct Deliveries: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Messages that were not accepted at the first attempt.",
        subcommands: [List.self, Replay.self],
        defaultSubcommand: List.self
    )

    /// `transferctl deliveries list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists a subscription's messages, newest first."
        )

        @OptionGroup var options: ServiceOptions

        @Argument(help: "The identifier of the subscription.")
        var subscription: String

        @Option(help: "Only messages in this state: waiting, delivered, dead or expired.")
        var state: String?

        @Flag(help: "Print each message as JSON on a line.")
        var json = false

        mutating func run() async throws {
            let service = try options.service()
            let (subscription, state) = (subscription, state)
            try await Output.list(
                json: json,
                Table("DELIVERY", "STATE", "TYPE", "SESSION", "ATTEMPTS", "LAST"),
                page: {
                    try await service.deliveries(
                        toSubscription: subscription,
                        state: state,
                        after: $0
                    )
                },
                row: { delivery in
                    let last = delivery.attempts.last
                    return [
                        delivery.id, delivery.state, delivery.eventType ?? "",
                        delivery.sessionIdentifier ?? "", "\(delivery.attempts.count)",
                        last?.status.map { "\($0)" } ?? last?.reason ?? "",
                    ]
                }
            )
        }
    }

    /// `transferctl deliveries replay`.
    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sends messages again.",
            discussion: "What becomes of them is in their attempts: transferctl deliveries list."
        )

        @OptionGroup var options: ServiceOptions

        @Argument(help: "The identifiers of the messages.")
        var deliveries: [String]

        @Flag(help: "Print each message as JSON on a line.")
        var json = false

        mutating func run() async throws {
            let service = try options.service()
            for id in deliveries {
                let delivery = try await service.replay(delivery: id)
                if json {
                    try Output.json(delivery)
                } else {
                    try Output.line("\(delivery.id)  \(delivery.state)")
                }
            }
        }
    }
}
