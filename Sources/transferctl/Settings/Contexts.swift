import ArgumentParser
import Foundation
import TransferClient

/// `transferctl contexts`: services that are used by name.
struct Contexts: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Names services and their keys, in a file that only its owner can read.",
        discussion: """
            The file is TRANSFERCTL_CONFIG, or transferctl/contexts.json in $XDG_CONFIG_HOME, by \
            default ~/.config. --context names one; else TRANSFERD_URL with TRANSFERD_API_KEY, and \
            then TRANSFERCTL_CONTEXT, come before the current one.
            """,
        subcommands: [List.self, Add.self, Use.self, Remove.self],
        defaultSubcommand: List.self
    )

    private static var path: String { ContextFile.path(ProcessInfo.processInfo.environment) }

    private static func change(_ change: (inout ContextFile) throws -> Void) throws {
        var file = try ContextFile.read(at: path)
        try change(&file)
        try file.write(to: path)
    }

    /// `transferctl contexts list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the contexts.")

        mutating func run() throws {
            let file = try ContextFile.read(at: Contexts.path)
            var table = Table("CONTEXT", "CURRENT", "URL", "CLIENT")
            let rows = file.contexts.sorted { $0.key < $1.key }.map { name, context in
                [name, name == file.current ? "*" : "", context.url, context.client ?? ""]
            }
            for line in table.lines(rows) { try Output.line(line) }
        }
    }

    /// `transferctl contexts add`.
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds a context, whose key is read from the standard input.",
            discussion: "The first one becomes the current one."
        )

        @Argument(help: "Its name.")
        var name: String

        @Argument(help: "The URL of the service.")
        var url: String

        @Option(help: "The client of the tenant.")
        var client: String?

        mutating func validate() throws {
            do throws(TransferError) {
                try TransferService.check(url: url)
            } catch {
                throw ValidationError(error.message)
            }
        }

        mutating func run() throws {
            // Not an argument, which other users of the machine could read.
            if isatty(STDIN_FILENO) == 1 { try Output.note("API key:") }
            guard let key = readLine()?.trimmingCharacters(in: .newlines), !key.isEmpty else {
                throw TransferError(.misconfigured, "There is no key on the standard input.")
            }
            try TransferService.check(apiKey: key)
            let context = ContextFile.Context(url: url, apiKey: key, client: client)
            try Contexts.change { file in
                file.contexts[name] = context
                file.current = file.current ?? name
            }
        }
    }

    /// `transferctl contexts use`.
    struct Use: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a context the current one."
        )

        @Argument(help: "Its name.")
        var name: String

        mutating func run() throws {
            try Contexts.change { file in
                guard file.contexts[name] != nil else {
                    throw ContextFile.Fault.unknownContext(name, path: Contexts.path)
                }
                file.current = name
            }
        }
    }

    /// `transferctl contexts remove`.
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Removes a context.")

        @Argument(help: "Its name.")
        var name: String

        mutating func run() throws {
            try Contexts.change { file in
                guard file.contexts.removeValue(forKey: name) != nil else {
                    throw ContextFile.Fault.unknownContext(name, path: Contexts.path)
                }
                if file.current == name { file.current = nil }
            }
        }
    }
}
