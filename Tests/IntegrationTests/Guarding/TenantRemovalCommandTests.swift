import ChildProcess
import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The removal of a tenant as an operator asks for it beside a running instance.
@Suite(.timeLimit(.minutes(5))) struct TenantRemovalCommandTests {
    private func folders(_ directory: DataDirectory) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/containers")
    }

    @Test func itGoesWithItsFilesAlsoWhenTheInstanceIsKilled() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 8, size: 100_000)
        origin.when("/file", .response(body: body))
        origin.when("/slow", .gated(body, after: 1000, OriginGate()))
        let service = try await ServiceProcess(in: directory)
        let client = try HTTPClient(service, key: directory.apiKey())
        let users = try service.client(key: directory.apiKey())
        try await users.makeSession("s")
        let named = TaskRequest(
            target: .url(origin.url("/file")),
            destination: DestinationRequest(path: "kept/a", overwrite: false)
        )
        let slow = TaskRequest(target: .url(origin.url("/slow")))
        let plain = TaskRequest(target: .url(origin.url("/file")))
        _ = try await users.submit(
            [named, slow] + Array(repeating: plain, count: 10),
            toSession: "s"
        )
        await origin.log.arrived(1, at: "/slow")
        let tenant = try #require(try folders(directory).first)
        let file = "\(directory.path)/containers/\(tenant)/kept/a"
        try await eventually("the file is there") { FileManager.default.fileExists(atPath: file) }

        let told = try await directory.run("tenants", "remove", "default")
        #expect(told.status == 0)
        #expect(told.lines.contains(["sessions", "1"]) && told.lines.contains(["tasks", "12"]))
        #expect(told.lines.last?.first?.hasPrefix("Nothing was removed") == true)
        #expect(await client.status("GET", "/v1/tenant") == 200)
        #expect(try await directory.run("tenants", "remove", "absent").status != 0)
        #expect(try await directory.run("tenants", "remove", "default", "--yes").status == 0)
        try await eventually("its key has ended") {
            await client.status("GET", "/v1/tenant") == 401
        }
        #expect(await service.killNow() != 0)

        let again = try await ServiceProcess(in: directory)
        try await eventually("nothing of it is left") {
            try await directory.run("tenants", "list").lines.isEmpty
        }
        #expect(try !folders(directory).contains(tenant))
        let entries = try await directory.run("audit", "list")
        #expect(entries.lines.contains { $0[0].contains("transferd tenants remove") })
        #expect(await again.terminate() == 0)
    }
}
