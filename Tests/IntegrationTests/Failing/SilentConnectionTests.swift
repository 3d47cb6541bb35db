import FaultProxy
import Foundation
import Postgres
import Testing
import TransferTestSupport

/// Connections to the database that a network has forgotten without a word, while new ones work.
@Suite(.timeLimit(.minutes(5))) struct SilentConnectionTests {
    @Test func aWorkerOutlivesTheSilenceOfItsConnections() async throws {
        let directory = try DataDirectory()
        let other = try await ServiceProcess(in: directory)
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        let proxy = try FaultProxy(to: .socket("\(directory.path)/run/.s.PGSQL.5432"))
        let url = "host=127.0.0.1 port=\(proxy.port) user=transferd dbname=postgres sslmode=disable"
        let log = try directory.log()
        let service = try await ServiceProcess(in: directory, ["--database-url", url], log: log)
        let client = try HTTPClient(service, key: directory.apiKey())
        let living: Query = """
            SELECT incarnation FROM worker WHERE heartbeat_at > started_at ORDER BY incarnation
            """
        try await eventually("both workers are heard") {
            try await aside.execute(living).count == 2
        }
        let incarnation: Int32 = try await aside.execute(living)[1].decode("incarnation")

        proxy.silenceConnections()
        let time: String = try await aside.execute(
            "SELECT clock_timestamp()::text AS time"
        )[0].decode("time")
        // What was on its way may still arrive.
        let heard: Query = """
            SELECT heartbeat_at > \(time)::text::timestamptz + interval '1 s' AS is_heard
            FROM worker WHERE incarnation = \(incarnation)
            """
        try await eventually("it is heard again, or declared dead", within: .seconds(90)) {
            try await aside.execute(heard).first?.decode("is_heard", as: Bool.self) ?? true
        }
        #expect(try await aside.execute(heard).count == 1)
        try await eventually("its API uses other connections too", within: .seconds(90)) {
            await client.status("GET", "/v1/sessions") == 200
        }
        #expect(try !String(contentsOfFile: log, encoding: .utf8).contains("declared dead"))
        await aside.close()
        #expect(await service.terminate() == 0)
        #expect(await other.terminate() == 0)
        proxy.stop()
    }
}
