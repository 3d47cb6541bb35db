import ArgumentParser

/// The service from a terminal: transfers, their events, and webhooks as they come.
@main
struct Transferctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transferctl",
        abstract: "Uses a transferd service.",
        discussion: """
            Reads TRANSFERD_URL, TRANSFERD_API_KEY and TRANSFERD_CLIENT. Exits with 0 when all went \
            well, 1 when a transfer failed or the service refused, 64 for wrong arguments.
            """,
        subcommands: [Get.self, Wait.self, Tasks.self, Events.self, Listen.self]
    )
}
