import ChildProcess
import Foundation
import Postgres
import Testing
import TransferClient
import TransferTestSupport

/// The audit log of a running service, as an operator reads and verifies it.
@Suite(.timeLimit(.minutes(5))) struct AuditCommandTests {
    private struct Entry: Decodable {
        let actor: String?
        let action: String
        let object: String
        let status: Int?
    }

    private static func run(
        _ directory: DataDirectory,
        _ arguments: String...
    ) async throws -> (status: Int32, output: String) {
        let process = try Program.start(arguments + directory.options, log: "/dev/null")
        var output = ""
        while let text = await process.line() { output += String(decoding: text, as: UTF8.self) }
        return (await process.status(), output)
    }

    private static func list(_ directory: DataDirectory) async throws -> [Entry] {
        let (status, output) = try await run(directory, "audit", "list")
        #expect(status == 0)
        return try output.split(separator: "\n").map {
            try JSONDecoder().decode(Entry.self, from: Data($0.utf8))
        }
    }

    /// Waits until everything is sealed.
    ///
    /// - Returns: the last block, as the command prints it.
    private static func sealed(_ directory: DataDirectory) async throws -> String {
        var block = ""
        try await eventually("everything is sealed") {
            let (status, output) = try await run(directory, "audit", "verify")
            #expect(status == 0)
            block = output.split(separator: "\n").last.map(String.init) ?? ""
            return output.contains(" 0 entries not yet sealed")
        }
        return block
    }

    @Test func requestsAndCommandsAreListedAndSealed() async throws {
        let directory = try DataDirectory()
        let log = "\(directory.path).log"
        let service = try await ServiceProcess(in: directory, log: log)
        let client = try service.client(key: directory.apiKey())
        let http = try HTTPClient(service, key: directory.apiKey())
        try await client.makeSession("photos")
        #expect(try await http.send("GET", "/v1/keys").status == 403)
        let created = try await Self.run(directory, "keys", "create", "--name", "canary name")
        let id = try #require(created.output.split(separator: "_").dropFirst().first)
        #expect(try await Self.run(directory, "keys", "revoke", String(id)).status == 0)
        let limited = try await Self.run(
            directory,
            "tenants",
            "limit",
            "--requests-per-second-max",
            "1000"
        )
        #expect(limited.status == 0)
        let granted = try await Self.run(directory, "migrate", "--grant-to", "transferd_service")
        #expect(granted.status == 0)
        let repaired = try await Self.run(directory, "verify", "--repair")
        #expect(repaired.status < 2)

        let block = try await Self.sealed(directory)
        let entries = try await Self.list(directory)
        func entry(_ action: String, _ object: String) -> Entry? {
            entries.first { $0.action == action && $0.object.hasPrefix(object) }
        }
        #expect(entry("PUT", "/v1/sessions/photos")?.status == .some(nil))
        #expect(entry("GET", "/v1/keys")?.status == 403)
        #expect(entry("transferd keys create", "\(id) of ")?.actor?.hasPrefix("user ") == true)
        #expect(entry("transferd keys revoke", String(id)) != nil)
        #expect(entry("transferd tenants limit", "") != nil)
        #expect(entry("transferd migrate --grant-to", "transferd_service") != nil)
        #expect(entry("transferd verify --repair", "") != nil)
        let firstKey = try directory.apiKey().split(separator: "_")[1]
        #expect(entry("transferd serve", "\(firstKey) of default") != nil)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("audit log sealed") && text.contains(block))
        let kept = try await Self.run(directory, "audit", "verify", "--block", block)
        #expect(kept.status == 0)
        let other = block.prefix { $0 != ":" } + ":" + String(repeating: "0", count: 64)
        let refused = try await Self.run(directory, "audit", "verify", "--block", String(other))
        #expect(refused.status == 1)
        #expect(refused.output.contains("is not the one that was kept"))
        #expect(await service.terminate() == 0)
    }
    /// Whoever may write to the database can also say that entries were removed for their age.
    @Test func entriesRemovedBeforeTheirTimeAreFound() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        try await client.makeSession("photos")
        let block = try await Self.sealed(directory)
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        try await aside.executeScript(
            """
            SELECT set_config('transferd.removes_audit_entries', 'on', true);
            DELETE FROM audit_entry;
            UPDATE audit_chain SET removed_number = number
            """
        )
        await aside.close()
        let found = try await Self.run(directory, "audit", "verify", "--block", block)
        #expect(found.status == 1)
        #expect(found.output.contains("were removed before their retention was over"))
        #expect(found.output.contains("of which the last was sealed at 20"))
        let refused = try await Self.run(directory, "audit", "verify", "--audit-retention", "0")
        #expect(refused.status != 0 && refused.output.isEmpty)
        #expect(await service.terminate() == 0)
    }
}
