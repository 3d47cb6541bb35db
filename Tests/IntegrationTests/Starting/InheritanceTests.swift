import Foundation
import Glibc
import Testing
import TransferTestSupport

/// The descriptors that the private cluster inherits from the service that starts it.
@Suite(.timeLimit(.minutes(5))) struct InheritanceTests {
    /// Returns the sockets and pipes that a process has open.
    private func channels(of process: pid_t) throws -> Set<String> {
        let folder = "/proc/\(process)/fd"
        let files = FileManager.default
        let targets = try files.contentsOfDirectory(atPath: folder).compactMap {
            try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
        }
        return Set(targets.filter { $0.hasPrefix("socket:") || $0.hasPrefix("pipe:") })
    }

    @Test func aRevivedClusterHoldsNothingOfTheService() async throws {
        let directory = try DataDirectory()
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let port = Int(held.number)
        let service = try await ServiceProcess(in: directory, ["--port", "\(port)"])
        let client = try HTTPClient(service, key: directory.apiKey())
        try await eventually("it is ready") { await client.status("GET", "/readyz") == 200 }
        let killed = try #require(directory.databaseServer)
        kill(killed, SIGKILL)
        try await eventually("the cluster is there again", within: .seconds(60)) {
            guard let server = directory.databaseServer else { return false }
            guard server != killed else { return false }
            return await client.status("GET", "/readyz") == 200
        }
        let server = try #require(directory.databaseServer)
        #expect(try channels(of: server).isDisjoint(with: channels(of: service.pid)))
        _ = await service.killNow()
        // The port is free, although the cluster lives on.
        #expect(directory.isAlive(server))
        let again = try await ServiceProcess(in: directory, ["--port", "\(port)"])
        #expect(again.announcement.port == port)
        #expect(await again.terminate() == 0)
    }
}
