import ChildProcess
import Foundation
import Postgres
import Testing
import TransferTestSupport

/// `transferd doctor`, where the service would not start.
@Suite(.timeLimit(.minutes(5))) struct DoctorTests {
    private static func run(
        _ arguments: [String],
        adding added: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let process = try Program.start(["doctor"] + arguments, log: "/dev/null", adding: added)
        var output = ""
        while let text = await process.line() { output += String(decoding: text, as: UTF8.self) }
        return (await process.status(), output)
    }

    @Test func beforeTheFirstStartItMakesNothing() async throws {
        let directory = try DataDirectory()
        let checks = try await Self.run(directory.options)
        #expect(checks.status == 0)
        #expect(checks.output.contains("warns no private cluster in \(directory.path) yet"))
        #expect(!FileManager.default.fileExists(atPath: directory.path))
    }

    @Test func aDatabaseOfOnesOwnTakesASecretsKey() async throws {
        let cluster = try DataDirectory()
        let service = try await ServiceProcess(in: cluster)
        let directory = try DataDirectory()
        let arguments = ["--database-url", cluster.databaseURL] + directory.options
        let refused = try await Self.run(arguments)
        #expect(refused.status == 1)
        #expect(refused.output.contains("openssl rand -hex 32"))
        let plain = try await Self.run(arguments, adding: ["TRANSFERD_SECRETS": "plain"])
        #expect(plain.status == 0)
        #expect(plain.output.contains("warns no key for secrets"))
        let sealed = try await Self.run(
            arguments,
            adding: ["TRANSFERD_SECRETS_KEY_FILE": "\(cluster.path)/secrets-key"]
        )
        #expect(sealed.status == 0)
        #expect(sealed.output.contains("ok    secrets are sealed"))
        #expect(await service.terminate() == 0)
    }

    @Test func tellsASettingOfTheRoleFromAStandby() async throws {
        let cluster = try DataDirectory()
        let service = try await ServiceProcess(in: cluster)
        let aside = try await TestDatabase.connection(to: cluster.databaseURL)
        try await aside.executeScript(
            """
            CREATE ROLE reader SUPERUSER LOGIN;
            ALTER ROLE reader SET default_transaction_read_only = on
            """
        )
        let checks = try await Self.run(
            [
                "--database-url", "host=\(cluster.path)/run user=reader dbname=postgres",
            ] + cluster.options
        )
        #expect(checks.status == 1)
        #expect(checks.output.contains("sessions of the role reader are read-only"))
        #expect(checks.output.contains("ALTER ROLE reader SET"))
        await aside.close()
        #expect(await service.terminate() == 0)
    }

    @Test func failsWhereNoCommitFinishes() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        try await aside.executeScript("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        _ = try await aside.execute("SELECT pg_reload_conf()")
        try await eventually("the server has read it") {
            let rows = try await aside.execute(
                "SELECT current_setting('synchronous_standby_names') AS value"
            )
            return try rows[0].decode("value", as: String.self) == "nobody"
        }
        let checks = try await Self.run(directory.options)
        #expect(checks.status == 1)
        #expect(checks.output.contains("fails a commit did not finish within 5 s"))
        #expect(checks.output.contains("synchronous_standby_names"))
        try await aside.executeScript("ALTER SYSTEM RESET synchronous_standby_names")
        _ = try await aside.execute("SELECT pg_reload_conf()")
        await aside.close()
        #expect(await service.terminate() == 0)
    }

    @Test func warnsOfLogsThatEveryRoleMayThin() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let warning = "warns every role of the server may drop partitions of the logs"
        let checks = try await Self.run(directory.options)
        #expect(!checks.output.contains(warning))
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        // As a restore without privileges leaves it.
        try await aside.executeScript(
            "GRANT EXECUTE ON FUNCTION drop_log_partition(text, date) TO PUBLIC"
        )
        await aside.close()
        let restored = try await Self.run(directory.options)
        #expect(restored.status == 0)
        #expect(restored.output.contains(warning))
        #expect(try await Program.run(["migrate"] + directory.options).status == 0)
        let mended = try await Self.run(directory.options)
        #expect(!mended.output.contains(warning))
        #expect(await service.terminate() == 0)
    }

    @Test func warnsOfSettingsThatLoseWhatWasCommitted() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        try await aside.executeScript("ALTER SYSTEM SET full_page_writes = off")
        _ = try await aside.execute("SELECT pg_reload_conf()")
        try await eventually("the server has read it") {
            let rows = try await aside.execute(
                "SELECT current_setting('full_page_writes') AS value"
            )
            return try rows[0].decode("value", as: String.self) == "off"
        }
        let checks = try await Self.run(directory.options)
        #expect(checks.status == 0)
        #expect(checks.output.contains("warns full_page_writes is off"))
        #expect(!checks.output.contains("fsync"))
        await aside.close()
        #expect(await service.terminate() == 0)
    }
}
