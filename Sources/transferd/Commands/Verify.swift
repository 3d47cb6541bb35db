import ArgumentParser
import Foundation
import Logging
import Postgres
import TransferContainer
import TransferEngine
import TransferStore

/// `transferd verify`: finds and repairs what was lost or left behind beneath the service.
struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compare what the database says with what there is.",
        discussion: """
            Lists completed tasks whose file is gone, files that belong to nobody, and counts that are \
            not what the tables hold. Ends with 0 when there is nothing to list, with 1 when there is, \
            and with 2 when it could not look. May run beside the service.
            """
    )

    @Flag(
        help: """
            Remove files of nobody, correct counts, and have tasks whose file is gone say so.
            """
    )
    var repair = false

    @Flag(help: "Print each finding, and at the end a summary, as a line of JSON.")
    var json = false

    @OptionGroup var database: DatabaseOptions

    /// The exit status when something could not be checked, so that it never counts as correct.
    private static let couldNotLook = ExitCode(2)
    /// The statement timeout: one statement counts a session of a million tasks.
    private static let statementTimeout: Duration = .seconds(3600)

    func run() async throws {
        let summary: Inspection.Summary
        do {
            summary = try await inspect()
        } catch {
            let reason = DatabaseFailure(error)?.description ?? "\(error)"
            // After what was logged on the way.
            LogQueue.standardError.drain()
            let text = "transferd verify could not look: \(reason)\n"
            try FileHandle.standardError.write(contentsOf: Data(text.utf8))
            throw Self.couldNotLook
        }
        if summary.found > 0 { throw ExitCode(1) }
    }

    private func inspect() async throws -> Inspection.Summary {
        let logger = Command.logger()
        return try await Command.withDatabase(
            database,
            mayCreate: false,
            logger: logger
        ) { server in
            try await server.migrate(logger: logger)
            var configuration = server.configuration
            configuration.statementTimeout = Self.statementTimeout
            configuration.queryDeadline = Self.statementTimeout
            let container = try Container(directory: server.location.containers)
            return try await server.withDatabase(by: configuration) { database in
                try await inspect(database, container, logger: logger)
            }
        }
    }

    private func inspect(
        _ database: Database,
        _ container: Container,
        logger: Logger
    ) async throws -> Inspection.Summary {
        // First, since it may be stopped on the way; most changes are to files.
        if repair { try await Command.record("verify --repair", about: "", in: database) }
        let inspection = try Inspection(
            stores: EngineStores(database),
            container: container,
            logger: logger
        )
        let json = json
        let summary = try await inspection.run(repairs: repair) { finding in
            try Self.write(VerifyLine(finding), asJSON: json)
        }
        try Self.write(VerifyLine(summary), asJSON: json)
        return summary
    }

    private static func write(_ line: VerifyLine, asJSON: Bool) throws {
        var data = try asJSON ? line.json : Data(line.text.utf8)
        data.append(UInt8(ascii: "\n"))
        try FileHandle.standardOutput.write(contentsOf: data)
    }
}
