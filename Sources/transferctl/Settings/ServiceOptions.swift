import ArgumentParser
import Foundation
import TransferClient

/// Which service a command uses.
struct ServiceOptions: ParsableArguments {
    @Option(help: "The context whose service is used, of those of `transferctl contexts`.")
    var context: String?

    /// Returns a command for the same service, as it is typed.
    ///
    /// - Parameters:
    ///   - name: the name of the command.
    ///   - words: what follows it, quoted already.
    /// - Returns: the command with the context that was named.
    func command(_ name: String, _ words: String) -> String {
        let context = context.map { "\(ShellWords.option("--context", $0)) " } ?? ""
        return "transferctl \(name) \(context)\(words)"
    }

    /// Returns the command that lists the failed tasks of a session.
    func listOfFailures(in session: String) -> String {
        command("tasks", "--state failed \(ShellWords.argument(session))")
    }

    /// Returns the service: that of the context named, or of `TRANSFERD_URL` and
    /// `TRANSFERD_API_KEY`, or of `TRANSFERCTL_CONTEXT`, or of the current context; an empty
    /// variable counts as absent.
    ///
    /// - Throws: ``TransferError`` with the code `misconfigured`, or a fault of the file.
    func service(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> TransferService {
        var environment = environment.filter { !$0.value.isEmpty }
        if context == nil, let url = environment["TRANSFERD_URL"] {
            environment["TRANSFERD_API_KEY"] = environment["TRANSFERD_API_KEY"].map(Self.key)
            return try TransferService(
                environment: environment,
                transport: NamedTransport(url: url)
            )
        }
        let path = ContextFile.path(environment)
        let file = try ContextFile.read(at: path)
        guard let name = context ?? environment["TRANSFERCTL_CONTEXT"] ?? file.current else {
            throw TransferError(
                .misconfigured,
                file.contexts.isEmpty
                    ? "Set TRANSFERD_URL and TRANSFERD_API_KEY, or add a context."
                    : "No context is the current one: `transferctl contexts use NAME` makes one so."
            )
        }
        guard let context = file.contexts[name] else {
            throw ContextFile.Fault.unknownContext(name, path: path)
        }
        let key = Self.key(context.apiKey)
        try TransferService.check(url: context.url)
        try TransferService.check(apiKey: key)
        return TransferService(
            url: context.url,
            apiKey: key,
            client: context.client,
            transport: NamedTransport(url: context.url)
        )
    }

    /// Returns a key without the end of a line, which files that other systems wrote leave there.
    private static func key(_ text: String) -> String { text.trimmingCharacters(in: .newlines) }
}
