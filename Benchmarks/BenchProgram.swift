import ArgumentParser

/// `transferd-bench`.
@main
struct BenchProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transferd-bench",
        abstract: "Measure the service beside its peers.",
        subcommands: [Bench.self, Flood.self],
        defaultSubcommand: Bench.self
    )
}
