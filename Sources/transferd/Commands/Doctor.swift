import ArgumentParser
import Curl
import EmbeddedPostgres
import Foundation
import Glibc
import Logging
import TransferEngine
import TransferSecrets
import TransferStore

/// `transferd doctor`: reports what is missing before `serve` would fail because of it.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check what the service needs, and say what to do.",
        discussion: """
            It tries out whether the threads of an instance can be started. Where one runs already \
            under the same limit of processes, they are taken from what it has left, for a moment.
            """
    )

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        let library = CurlLoop.libraryVersion
        print("ok    libcurl \(library.version), \(library.tlsVersion ?? "without TLS")")
        try checkDescriptors()
        checkThreads()
        let logger = Command.logger()
        do {
            try await Command.withDatabase(database, mayCreate: false, logger: logger) { database in
                let kind = database.isPrivate ? "private cluster" : "DATABASE_URL"
                let (version, lossySettings) = try await database.withDatabase(
                    by: database.ownerConfiguration
                ) { store in
                    let version: String
                    do {
                        version = try await store.serverVersion()
                    } catch {
                        if let cause = await database.readOnlySetting() { throw cause }
                        throw error
                    }
                    return (version, try await store.lossySettings())
                }
                print("ok    PostgreSQL \(version) (\(kind))")
                for name in lossySettings {
                    print("warns \(name) is off: a crash of PostgreSQL may lose accepted tasks")
                }
                let migrator = try Migrator(folder: database.location.migrations, logger: logger)
                let pending = try await database.withConnection {
                    try await migrator.pendingCount($0)
                }
                print("ok    \(pending) migrations to be applied by the next start")
                try await database.checkCommits()
                // Before that, a private cluster may lack the role.
                if pending == 0 { try await checkRights(database) }
                try checkContainers(database.location)
                try checkSecrets(database.location, logger: logger)
            }
        } catch EmbeddedPostgresError.clusterMissing(let path) {
            try Self.checkFirstStart(in: path)
        } catch {
            // In PostgreSQL's own words.
            print("fails \(String(reflecting: error))")
            throw ExitCode.failure
        }
    }

    /// Checks what the first start needs, which makes the private cluster.
    private static func checkFirstStart(in directory: String) throws(ExitCode) {
        do throws(EmbeddedPostgresError) {
            try EmbeddedCluster.checkMachine()
        } catch {
            print("fails \(error)")
            throw ExitCode.failure
        }
        print("warns no private cluster in \(directory) yet: the first start makes one")
    }

    private func checkDescriptors() throws(ExitCode) {
        let limit = DescriptorLimit.raised()
        do throws(TooFewDescriptors) {
            try limit.check(transferThreads: EngineConfiguration.transferThreadsDefault)
        } catch {
            print("fails \(error)")
            throw ExitCode.failure
        }
        let wanted = EngineConfiguration.concurrencyDefault
        if limit.transfersMax >= wanted {
            print(
                "ok    \(limit.count) descriptors, enough for \(limit.transfersMax) transfers at once"
            )
        } else {
            print(
                "warns \(limit.count) descriptors do for \(limit.transfersMax) transfers at once, not "
                    + "for \(wanted): raise the hard limit (ulimit -n)"
            )
        }
    }

    private func checkThreads() {
        do throws(TooFewThreads) {
            try ThreadLimit.check(transferThreads: EngineConfiguration.transferThreadsDefault)
            print("ok    enough threads for an instance")
        } catch {
            // One that runs here already may have taken them.
            print("warns \(error)")
        }
    }

    private func checkRights(_ database: DatabaseServer) async throws {
        if try await database.isEverybodys() {
            print(
                "warns every role of the server may drop partitions of the logs: run "
                    + "`transferd migrate` as the owner of the schema"
            )
        }
        switch try await database.rights() {
        case .rows: print("ok    the service's role may change rows, and define nothing")
        case .definitions(let role, let reason):
            print(
                "warns the role \(role) \(reason): give `serve` one that may only change rows "
                    + "(transferd migrate --grant-to)"
            )
        }
    }

    private func checkContainers(_ location: DatabaseLocation) throws {
        try UnwritableDirectory.make(location.containers)
        print("ok    \(location.containers) is writable")
    }

    private func checkSecrets(_ location: DatabaseLocation, logger: Logger) throws {
        var reader = SettingsReader(environment: ProcessInfo.processInfo.environment)
        let file = SecretsKeyFile(location, &reader)
        if !reader.problems.isEmpty { throw ConfigurationError(problems: reader.problems) }
        guard !file.isToBeMade else {
            return print("ok    the key that seals secrets is made by the first start")
        }
        if let box = try file.box(logger: logger) {
            print("ok    secrets are sealed (\(box.keyNames.count) in the file of the keys)")
        } else {
            print("warns no key for secrets: they are stored as they are")
        }
    }
}
