import ArgumentParser
import ChildProcess
import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

@testable import transferd

/// A configuration that gives secrets away is refused, with what to do instead.
@Suite(.timeLimit(.minutes(5))) struct UnsafeStartTests {
    private static func problems(_ environment: [String: String]) -> String {
        do {
            _ = try ServerConfiguration(
                database: try DatabaseOptions.parse(["--resources", Checkout.root]),
                service: try ServiceOptions.parse([]),
                environment: environment
            )
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        "0.0.0.0", "::", "10.1.2.3", "transfers.example", "8.8.8.8", "::ffff:127.0.0.1",
    ])
    func anAddressThatOthersReachTakesTLSOrAWord(host: String) {
        let refusal = Self.problems(["TRANSFERD_HOST": host])
        #expect(refusal.hasPrefix("TRANSFERD_HOST: on \(host), API keys would cross"))
        #expect(refusal.contains("TRANSFERD_PLAIN_HTTP to anywhere"))
        #expect(
            Self.problems(["TRANSFERD_HOST": host, "TRANSFERD_PLAIN_HTTP": "anywhere"]) == ""
        )
        // Probes carry no keys.
        #expect(Self.problems(["TRANSFERD_HOST": host, "TRANSFERD_ROLES": "worker"]) == "")
    }

    @Test(arguments: ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
    func thisMachineIsSafe(host: String) {
        #expect(Self.problems(["TRANSFERD_HOST": host]) == "")
    }

    @Test(arguments: [
        ("postgres://me@db.example/x", true), ("host=10.0.0.1 dbname=x", true),
        ("host=/run/postgresql,10.0.0.1", true), ("postgres://me@[2001:db8::1]/x", true),
        ("hostaddr=10.0.0.1 host=localhost", true),
        ("postgres://me@db.example/x?sslmode=verify-full", false),
        ("postgres://me@db.example/x?sslmode=disable", true),
        ("postgres://me@db.example/x?sslmode=require", true),
        ("postgres://me@db.example/x?sslmode=verify-ca", true),
        ("postgres://me@127.0.0.1/x", false), ("postgres://me@localhost/x", false),
        ("host=/run/postgresql dbname=x", false), ("dbname=x", false), ("postgres:///x", false),
        ("postgres://me@127.db.example/x", true), ("host=127.0.0.1.db.example", true),
        ("host=a,b hostaddr=127.0.0.1,", true), ("host=a,b hostaddr=,127.0.0.1", true),
        ("host=a,localhost hostaddr=127.0.0.1,", false), ("host=127.0.0.1, dbname=x", false),
    ])
    func aDatabaseElsewhereHasToProveItsName(url: String, isRefused: Bool) {
        let refusal = Self.problems(["DATABASE_URL": url])
        #expect(refusal.contains("sslmode=verify-full") == isRefused, "\(refusal)")
        // Also past a pooler.
        let past = Self.problems(["TRANSFERD_LISTEN_DATABASE_URL": url])
        #expect(past.contains("sslmode=verify-full") == isRefused, "\(past)")
    }

    @Test(arguments: [
        ("postgres://me@db.example/x", true), ("host=10.0.0.1 dbname=x", true),
        ("postgres://me@db.example/x?sslmode=disable", false),
        ("postgres://me@db.example/x?sslmode=require", false),
    ])
    func aTrustedNetworkTakesTwoWords(url: String, isRefused: Bool) {
        let refusal = Self.problems(["DATABASE_URL": url, "TRANSFERD_DATABASE_TLS": "as-given"])
        #expect(refusal.contains("no sslmode") == isRefused, "\(refusal)")
    }

    @Test func whoHasNoAuthorityIsToldOfTheSystems() {
        let refusal = Self.problems(["DATABASE_URL": "host=10.0.0.1 dbname=x"])
        #expect(refusal.contains("such as /etc/ssl/certs/ca-certificates.crt"), "\(refusal)")
    }

    /// What is there would be gone after the next boot, and others could have made the way to it.
    @Test func aUserWithoutAHomeNamesTheDataDirectory() {
        let nobody: uid_t = 0x7FFF_0001
        #expect(DatabaseLocation.dataDirectoryDefault([:], user: nobody) == nil)
        #expect(DatabaseLocation.dataDirectoryDefault(["HOME": ""], user: nobody) == nil)
        let state = ["XDG_STATE_HOME": "/s", "HOME": "/h"]
        #expect(DatabaseLocation.dataDirectoryDefault(state, user: nobody) == "/s/transferd")
        #expect(
            DatabaseLocation.dataDirectoryDefault(["HOME": "/h"], user: nobody)
                == "/h/.local/state/transferd"
        )
    }

    @Test func theOptionForTheDatabaseIsSpeltAsItsWord() {
        #expect(Self.problems(["TRANSFERD_DATABASE_TLS": "as_given"]).contains("is none of"))
    }

    @Test func aCertificateTakesItsKey() {
        for name in ["CERTIFICATE", "KEY"] {
            let refusal = Self.problems(["TRANSFERD_TLS_\(name)_FILE": "/nowhere"])
            #expect(refusal.contains("a certificate takes its key"), "\(refusal)")
        }
        let both = ["TRANSFERD_TLS_CERTIFICATE_FILE": "/a", "TRANSFERD_TLS_KEY_FILE": "/b"]
        #expect(Self.problems(both.merging(["TRANSFERD_HOST": "0.0.0.0"]) { $1 }) == "")
    }

    @Test(arguments: [
        ("TRANSFERD_ALLOW_NETWORKS", "10.0.0.0/33"), ("TRANSFERD_DENY_NETWORKS", "10.0.0"),
        ("TRANSFERD_NAT64_PREFIXES", "2001:db8::/95"), ("TRANSFERD_NAT64_PREFIXES", "10.0.0.0/32"),
        ("TRANSFERD_EGRESS_PORTS", "0"), ("TRANSFERD_EGRESS_PORTS", "443,http"),
        ("TRANSFERD_DENY_HOSTS", "bücher.example"), ("TRANSFERD_DENY_HOSTS", "."),
        ("TRANSFERD_ALLOW_HOSTS", "https://example.com"),
        ("TRANSFERD_EGRESS_PROXY", "proxy.example:3128"),
        ("TRANSFERD_EGRESS_PROXY", "socks5://proxy.example"),
        ("TRANSFERD_EGRESS_PROXY", "https://proxy.example"),
        ("TRANSFERD_EGRESS_DIRECT_HOSTS", "bücher.example"),
    ])
    func anEgressRuleThatIsNoneIsRefused(variable: String, text: String) {
        #expect(Self.problems([variable: text]).contains(variable))
    }

    @Test func aProxysCredentialIsNeitherInItsURLNorWithoutIt() {
        let refusal = Self.problems(["TRANSFERD_EGRESS_PROXY": "http://me:secret@proxy.example"])
        #expect(refusal.contains("TRANSFERD_EGRESS_PROXY_CREDENTIAL_FILE"))
        #expect(!refusal.contains("secret"))
        for name in ["PROXY_CREDENTIAL_FILE", "DIRECT_HOSTS"] {
            let refusal = Self.problems(["TRANSFERD_EGRESS_\(name)": "example.com"])
            #expect(refusal.contains("take a proxy"), "\(refusal)")
        }
    }

    /// Also when its words are none, what they are is not said.
    @Test(arguments: [(0o644, "me:secret\n"), (0o400, "secret\n"), (0o400, "")])
    func aProxysCredentialThatCannotBeUsedEndsTheStart(mode: Int, text: String) async throws {
        let folder = try TestFolder("integration")
        let file = "\(folder.path)/credential"
        try folder.write(text, to: "credential")
        chmod(file, mode_t(mode))
        let refusal = await #expect(throws: ServiceProcess.NotStarted.self) {
            try await ServiceProcess(
                in: try DataDirectory(),
                [
                    "--egress-proxy", "http://proxy.example:3128",
                    "--egress-proxy-credential-file", file,
                ]
            )
        }
        let words = mode == 0o644 ? "has the mode 644" : "must have one line"
        #expect(refusal?.description.contains(words) == true, "\(String(describing: refusal))")
        #expect(refusal?.description.contains("secret\n") == false)
    }

    /// Starts the service with a secrets key in a file of this mode, and returns how it ends.
    private static func start(
        mode: Int?,
        _ options: [String] = []
    ) async throws -> (status: Int32, log: String) {
        let directory = try DataDirectory()
        let folder = try TestFolder("integration")
        let file = "\(folder.path)/key"
        if let mode {
            try "\(String(repeating: "a1", count: 32))\n".write(
                toFile: file,
                atomically: true,
                encoding: .utf8
            )
            try FileManager.default.setAttributes(
                [.posixPermissions: mode],
                ofItemAtPath: file
            )
        }
        let log = "\(folder.path)/log"
        let process = try Program.start(
            ["serve", "--port", "0", "--secrets-key-file", file] + directory.options + options,
            log: log
        )
        if await process.line() != nil {
            process.signal(SIGTERM)
            _ = await process.status()
            return (0, "")
        }
        return (await process.status(), try String(contentsOfFile: log, encoding: .utf8))
    }

    @Test(arguments: [0o644, 0o604, 0o666, 0o601, 0o660])
    func aKeyThatOthersCanUseIsRefused(mode: Int) async throws {
        let (status, log) = try await Self.start(mode: mode)
        #expect(status != 0)
        #expect(log.contains("has the mode \(String(mode, radix: 8))"), "\(log)")
        #expect(log.contains("chmod 400"))
    }

    @Test(arguments: [0o400, 0o600, 0o440])
    func aKeyOfItsOwnIsUsed(mode: Int) async throws {
        #expect(try await Self.start(mode: mode).status == 0)
    }

    @Test func aKeyThatIsMissingIsSaid() async throws {
        let (status, log) = try await Self.start(mode: nil)
        #expect(status != 0)
        #expect(log.contains("there is no such file"))
    }

    /// An instance with another key than the database knows could not read what it has to send.
    @Test func anotherKeyThanTheDatabaseKnowsIsRefused() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        #expect(await service.terminate() == 0)
        let file = "\(directory.path)/secrets-key"
        let key = try String(contentsOfFile: file, encoding: .utf8)
        func replace(_ text: String) throws {
            try FileManager.default.removeItem(atPath: file)
            try SecretFile(path: file).create(text)
        }
        let other = String(repeating: "b2", count: 32) + "\n"
        try replace(other)
        let refusal = await #expect(throws: ServiceProcess.NotStarted.self) {
            try await ServiceProcess(in: directory)
        }
        #expect(refusal?.description.contains("lacks keys whose SHA-256 starts with") == true)
        try replace(other + key)
        let again = try await ServiceProcess(in: directory)
        #expect(await again.terminate() == 0)
    }

    @Test func theMemoryOfTheServiceIsWrittenNowhere() async throws {
        let directory = try DataDirectory()
        let authority = try await TestAuthority()
        let server = try await TLSServer(authority.issue(), of: authority)
        let keys = "\(directory.path).keys"
        let service = try await ServiceProcess(
            in: directory,
            environment: ["SSLKEYLOGFILE": keys]
        )
        let limits = try String(contentsOfFile: "/proc/\(service.pid)/limits", encoding: .utf8)
        let core = try #require(
            limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        )
        #expect(core.split(separator: " ").dropFirst(4).prefix(2) == ["1", "1"])
        // A real connection with TLS, of which the keys could have been written.
        let client = try service.client(key: directory.apiKey())
        let pem = try String(contentsOfFile: authority.certificatePath, encoding: .utf8)
        try await client.makeSession("s")
        let task = TaskRequest(
            target: .url(server.url()),
            options: OptionMembers(["tls": .object(["certificate_authorities": .string(pem)])])
        )
        let id = try await client.submit([task], toSession: "s")[0].id
        try await eventually("the task is completed") {
            try await client.task(id).state == "completed"
        }
        #expect(await service.terminate() == 0)
        #expect(!FileManager.default.fileExists(atPath: keys))
    }
}
