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
            try await Command.withStore(
                database,
                settings: { server in
                    let file = SecretsKeyFile(at: path ?? server.location.secretsKeyFile)
                    var settings = StoreSettings()
                    settings.secrets = try file.box(logger: Command.logger())
                    return settings
                }
            ) { database in
                let store = RewrapStore(database)
                try await Self.outwaitOtherKeys(store)
                let outcome = try await Command.audited("secrets rewrap", about: "", in: database) {
                    try await store.rewrap(pagesOf: Command.pageMax)
                }
                try Self.report(outcome)
            }
        }

        /// The time for which instances count as running after they have stopped, and more.
        private static let patience: Duration = .seconds(20)

        /// Waits until instances that were just restarted with the new key no longer count as
        /// running with the old one.
        private static func outwaitOtherKeys(_ store: RewrapStore) async throws {
            let end = ContinuousClock.now + patience
            while try await store.isOtherKeyInUse(), .now < end {
                try await Task.sleep(for: .seconds(1))
            }
        }

        /// Prints what was sealed, and throws unless the older keys are needless.
        private static func report(_ outcome: RewrapStore.Outcome) throws {
            guard !outcome.isOtherInUse else {
                throw Command.Refusal(
                    """
                    A running instance seals with another key than the first line of this file: keep \
                    all lines, make the new key the first on all instances, restart them, and run \
                    this again.
                    """
                )
            }
            for part in RewrapStore.Part.allCases {
                print("\(outcome.renewed[part, default: 0]) \(part.rawValue)")
            }
            guard outcome.unreadable == 0 else {
                throw Command.Refusal(
                    "\(outcome.unreadable) rows do not open: their key is missing, or they were changed."
                )
            }
            guard outcome.old == 0 else {
                throw Command.Refusal(
                    """
                    \(outcome.old) rows still needed an older key at the last look: keep all lines of \
                    the file, make the new key the first on all instances, restart them, and run this \
                    again.
                    """
                )
            }
        }
    }
}
