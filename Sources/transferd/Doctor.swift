import ArgumentParser
import Curl
import Foundation
import Glibc
import Postgres
import TransferEngine
import TransferStore

/// `transferd doctor`: says what is missing before `serve` would fail on it.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check what the service needs, and say what to do."
    )

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        let library = CurlLoop.libraryVersion
        print("ok    libcurl \(library.version), \(library.tlsVersion ?? "without TLS")")
        let limit = DescriptorLimit.raised()
        let isEnough = limit.transfersMax >= EngineConfiguration.concurrencyDefault
        print(
            "\(isEnough ? "ok   " : "warns") \(limit.count) descriptors, enough for "
                + "\(limit.transfersMax) transfers at once"
        )
        let logger = Command.logger()
        do {
            try await Command.withDatabase(database, logger: logger) { database in
                let kind = database.isPrivate ? "private cluster" : "DATABASE_URL"
                let pool = ConnectionPool(
                    configuration: database.configuration,
                    connectionsMax: 1,
                    loop: database.loop
                )
                let version = try await TransferStore(pool: pool).serverVersion()
                await pool.close()
                print("ok    PostgreSQL \(version) (\(kind))")
                let migrator = try Migrator(folder: database.location.migrations, logger: logger)
                let pending = try await database.withConnection {
                    try await migrator.pendingCount($0)
                }
                print("ok    \(pending) migrations to be applied by the next start")
                try checkContainers(database.location)
            }
        } catch {
            print("fails \(error)")
            throw ExitCode.failure
        }
    }

    private func checkContainers(_ location: DatabaseLocation) throws {
        try FileManager.default.createDirectory(
            atPath: location.containers,
            withIntermediateDirectories: true
        )
        guard access(location.containers, W_OK) == 0 else {
            print("fails \(location.containers) is not writable: give it to this user")
            throw ExitCode.failure
        }
        print("ok    \(location.containers) is writable")
    }
}
