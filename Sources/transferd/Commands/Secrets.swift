import ArgumentParser
import Foundation
import TransferStore

/// `transferd secrets`: what is sealed in the database.
struct Secrets: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage what is sealed in the database.",
        subcommands: [Rewrap.self]
    )

    /// `transferd secrets rewrap`: seals everything with the first key of the file.
    struct Rewrap: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Seal everything with the first key, so that the others can be removed.",
            discussion: """
                Runs beside the service. To change the key: add the new one as the last line of the \
                file on all instances and restart them, make it the first line and restart them again, \
                run this command, and remove the older lines. Also seals what was stored before there \
                was a key.
                """
        )

        @Option(
            help: """
                The file of the keys; secrets-key in the data directory. [TRANSFERD_SECRETS_KEY_FILE]
                """
        )
        var secretsKeyFile: String?

        @OptionGroup var database: DatabaseOptions

        func run() async throws {
            let reader = SettingsReader(environment: ProcessInfo.processInfo.environment)
            let path = reader.text(secretsKeyFile, "TRANSFERD_SECRETS_KEY_FILE")
            var unreadable = 0
            try await Command.withStore(database, secrets: .some(path)) { database in
                try await Command.audited("secrets rewrap", about: "", in: database) {
                    unreadable = try await rewrap(database)
                }
            }
            guard unreadable == 0 else {
                throw ValidationError(
                    "\(unreadable) rows do not open: their key is missing, or they were changed."
                )
            }
        }

        /// Seals everything again, and returns how many rows do not open.
        private func rewrap(_ database: Database) async throws -> Int {
            var unreadable = 0
            let store = RewrapStore(database)
            for part in RewrapStore.Part.allCases {
                var renewed = 0
                var cursor: RewrapStore.Cursor?
                repeat {
                    let page = try await store.rewrap(part, after: cursor, limit: Command.pageMax)
                    renewed += page.renewed
                    unreadable += page.unreadable
                    cursor = page.next
                } while cursor != nil
                print("\(renewed) \(part.rawValue)")
            }
            if unreadable == 0 { try await store.forgetOlderKeys() }
            return unreadable
        }
    }
}
