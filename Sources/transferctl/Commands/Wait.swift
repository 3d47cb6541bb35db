import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl wait`: waits until nothing of a session is outstanding.
struct Wait: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Waits until nothing of a session is outstanding.",
        discussion: "Exits with 1 if a task of the session's generation failed."
    )

    @OptionGroup var options: ServiceOptions

    @Argument(help: "The name of the session.")
    var session: String

    @Flag(help: "Print the session as JSON.")
    var json = false

    mutating func validate() throws { try SessionName.validate(session) }

    mutating func run() async throws {
        let document = try await options.service().finishedSession(session)
        if json {
            try Output.json(document)
        } else {
            try Output.line(
                "\(document.completed) completed, \(document.failed) failed, "
                    + "\(document.cancelled) cancelled"
            )
        }
        if document.failed > 0 { throw ExitCode(1) }
    }
}
