import ChildProcess
import Foundation
import Glibc
import Postgres
import Testing
import TransferTestSupport

/// What docker/compose.yaml runs, without its containers.
///
/// The files of secrets belong to other users, which only root can make.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "needs root"))
struct ComposeTests {
    private static let folder = "\(Checkout.root)/docker"

    private let services: [String: OpenAPIValue]
    private let files: [String: OpenAPIValue]

    init() throws {
        let text = try String(contentsOfFile: "\(Self.folder)/compose.yaml", encoding: .utf8)
        let document = try OpenAPIValue(yaml: text)
        services = try #require(document["services"]?.object)
        files = try #require(document["secrets"]?.object)
    }

    private func texts(_ service: String, _ member: String) -> [String] {
        services[service]?[member]?.array?.compactMap(\.string) ?? []
    }

    /// Returns the environment of a service, with the database behind a socket in `host` and the
    /// secrets in `folder`.
    private func environment(
        of service: String,
        host: String,
        secrets folder: String
    ) -> [String: String] {
        let members = services[service]?["environment"]?.object ?? [:]
        return members.compactMapValues(\.string).filter { !$0.value.contains("$") }.mapValues {
            $0.replacingOccurrences(of: "/run/secrets", with: folder)
                .replacingOccurrences(of: "@postgres/transferd?", with: "@/transferd?host=\(host)&")
        }.merging(service == "role" ? ["PGHOST": host] : [:]) { $1 }
    }

    private static func run(
        _ program: String,
        _ arguments: [String] = [],
        adding environment: [String: String] = [:]
    ) async throws -> Int32 {
        try await ChildProcess(
            program,
            arguments,
            environment: Program.environment.merging(environment) { $1 }
        ).status()
    }

    @Test func everySecretIsAFileThatItsReadersAloneCanRead() async throws {
        let folder = try TestFolder("compose")
        func make() async throws -> [String: Data] {
            #expect(try await Self.run("\(Self.folder)/make-secrets", [folder.path]) == 0)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return try Dictionary(
                uniqueKeysWithValues: names.map {
                    ($0, try Data(contentsOf: URL(filePath: "\(folder.path)/\($0)")))
                }
            )
        }
        let made = try await make()
        #expect(Set(made.keys) == Set(files.keys))
        for (name, file) in files { #expect(file["file"]?.string == "./secrets/\(name)") }
        #expect(Set(made.values).count == made.count)
        // What is there stays: a new key for secrets would open none of the old ones.
        #expect(try await make() == made)
        for (service, owner) in [("postgres", 999), ("role", 10001), ("migrate", 10001)]
            + [("transferd", 10001)]
        {
            #expect(!texts(service, "secrets").isEmpty)
            for name in texts(service, "secrets") {
                let attributes = try FileManager.default.attributesOfItem(
                    atPath: "\(folder.path)/\(name)"
                )
                #expect(attributes[.ownerAccountID] as? Int == owner, "\(name)")
                #expect(attributes[.posixPermissions] as? Int == 0o400, "\(name)")
            }
        }
        // No password is in an environment, where every process of the container could read it.
        for service in services.keys {
            let names = services[service]?["environment"]?.object?.keys.filter {
                $0.contains("PASSWORD") && !$0.hasSuffix("_FILE")
            }
            #expect(names?.isEmpty ?? true, "\(service)")
        }
    }

    @Test func withoutOpensslNoSecretIsMade() async throws {
        let folder = try TestFolder("compose")
        let programs = try TestFolder("compose")
        for name in ["dirname", "install"] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(programs.path)/\(name)",
                withDestinationPath: "/usr/bin/\(name)"
            )
        }
        let status = try await Self.run(
            "/bin/bash",
            ["\(Self.folder)/make-secrets", folder.path],
            adding: ["PATH": programs.path]
        )
        #expect(status != 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    /// The server that fills an empty volume listens on its socket alone.
    @Test func theDatabaseIsHealthyOnceItListensByTCP() throws {
        let check = services["postgres"]?["healthcheck"]?["test"]?.array?.compactMap(\.string) ?? []
        let option = try #require(check.firstIndex(of: "--host"))
        #expect(check[option...].dropFirst().first == "127.0.0.1")
    }

    @Test func theServiceRunsWithARoleThatDefinesNothing() async throws {
        let secrets = try TestFolder("compose")
        #expect(try await Self.run("\(Self.folder)/make-secrets", [secrets.path]) == 0)
        // A PostgreSQL with the owner of the file, in which passwords are asked for.
        let cluster = try DataDirectory()
        let front = try await ServiceProcess(in: cluster, ["--roles", "api"])
        let host = "\(cluster.path)/run"
        let aside = try await TestDatabase.connection(to: cluster.databaseURL)
        let password = try String(contentsOfFile: "\(secrets.path)/owner-password", encoding: .utf8)
            .trimmingCharacters(in: .newlines)
        try await aside.executeScript("ALTER ROLE transferd PASSWORD '\(password)'")
        try await aside.executeScript("CREATE DATABASE transferd")
        let access = "\(cluster.path)/postgres/pg_hba.conf"
        let rules = try String(contentsOfFile: access, encoding: .utf8)
        try "local transferd all scram-sha-256\n\(rules)".write(
            toFile: access,
            atomically: false,
            encoding: .utf8
        )
        _ = try await aside.execute("SELECT pg_reload_conf()")

        func environment(of service: String) -> [String: String] {
            self.environment(of: service, host: host, secrets: secrets.path)
        }
        // Once for a role that is not there, and twice for one that is.
        try secrets.write("*:*:*:newcomer:secret", to: "newcomer")
        let newcomer = ["SERVICE_PASSFILE": "\(secrets.path)/newcomer"]
        for added in [newcomer, [:], [:]] {
            let status = try await Self.run(
                "\(Self.folder)/make-role",
                adding: environment(of: "role").merging(added) { $1 }
            )
            #expect(status == 0)
        }
        let rows = try await aside.execute(
            """
            SELECT rolcanlogin AND NOT rolsuper AND NOT rolcreaterole AND rolpassword LIKE 'SCRAM%'
                AS is_plain
            FROM pg_authid WHERE rolname IN ('newcomer', 'transferd_service')
            """
        )
        #expect(try rows.map { try $0.decode("is_plain", as: Bool.self) } == [true, true])
        await aside.close()

        let directory = try DataDirectory()
        // In a container, this is the volume.
        try FileManager.default.createDirectory(
            atPath: directory.path,
            withIntermediateDirectories: true
        )
        let migration = try Program.start(
            texts("migrate", "command") + directory.options,
            log: try directory.log(),
            adding: environment(of: "migrate")
        )
        #expect(await migration.status() == 0)
        let service = try await ServiceProcess(
            in: directory,
            environment: environment(of: "transferd")
        )
        let probe = HTTPClient(service, key: "none")
        try await eventually("it is ready") { await probe.status("GET", "/readyz") == 200 }
        let doctor = try Program.start(
            ["doctor"] + directory.options,
            log: try directory.log(),
            adding: environment(of: "transferd")
        )
        var said: [String] = []
        while let line = await doctor.line() { said.append(String(decoding: line, as: UTF8.self)) }
        #expect(said.contains { $0.contains("may change rows, and define nothing") }, "\(said)")
        #expect(await service.terminate() == 0)
        #expect(await front.terminate() == 0)
    }
}
