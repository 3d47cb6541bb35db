import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Fault T13: name servers that fail, are silent, send too much or change their answers.
///
/// The service gets a separate resolver configuration by a mount namespace, which requires root.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "needs root"))
struct NameTests {
    private static let body = OriginBody.text("found")

    private struct Bench {
        let names: NameServer
        let origin: LoopbackOrigin
        let service: ServiceProcess
        let client: TransferService
        /// The data directory, removed with the last test that uses it.
        let directory: DataDirectory

        init(_ options: [String] = []) async throws {
            names = try NameServer()
            origin = try LoopbackOrigin()
            origin.when("/file", .response(body: NameTests.body))
            directory = try DataDirectory()
            service = try await ServiceProcess(in: directory, options, nameServer: names)
            client = try service.client(key: directory.apiKey())
            try await client.makeSession("s")
        }

        func end() async {
            #expect(await service.terminate() == 0)
            origin.stop()
            names.stop()
        }

        /// Submits a download from a host of that name.
        func submit(
            _ host: String,
            _ options: [String: JSONValue] = [:]
        ) async throws -> String {
            let task = TaskRequest(
                target: .url("http://\(host):\(origin.port)/file"),
                options: OptionMembers(options)
            )
            return try await client.submit([task], toSession: "s")[0].id
        }

        func task(_ id: String) async throws -> TaskDocument {
            try await client.task(id)
        }

        func wait(_ id: String, until state: String) async throws {
            try await eventually("task is \(state)") { try await task(id).state == state }
        }
    }

    @Test func aNameServerThatFailsIsAskedAgain() async throws {
        let bench = try await Bench()
        bench.names.know("host.test", .failure)
        let id = try await bench.submit(
            "host.test",
            ["retry": .object(["attempts_max": .integer(50), "delay_base": .integer(1)])]
        )
        try await bench.wait(id, until: "waiting_for_retry")
        #expect(try await bench.task(id).error?.code == "could_not_resolve_host")
        bench.names.know("host.test", .addresses(["127.0.0.1"]))
        try await bench.wait(id, until: "completed")
        await bench.end()
    }

    /// The question alone would tell the name server of a host what its name carries.
    @Test func aDeniedHostIsNotAskedFor() async throws {
        let bench = try await Bench(["--deny-host", ".denied.test"])
        bench.names.know("host.test", .addresses(["127.0.0.1"]))
        let options: [String: JSONValue] = ["retry": .object(["attempts_max": .integer(1)])]
        let denied = try await bench.submit("secret.denied.test", options)
        try await bench.wait(denied, until: "failed")
        #expect(try await bench.task(denied).error?.code == "egress_denied")
        let id = try await bench.submit("host.test")
        try await bench.wait(id, until: "completed")
        let asked = bench.names.namesAsked
        #expect(asked.contains("host.test"))
        #expect(!asked.contains("secret.denied.test"))
        await bench.end()
    }

    /// libcurl keeps the address of a name for a minute, which must not outlast a failure.
    @Test func anAddressThatHasChangedIsFoundByTheNextAttempt() async throws {
        let bench = try await Bench()
        bench.names.know("moving.test", .addresses(["127.0.0.2"]))
        let id = try await bench.submit(
            "moving.test",
            [
                "retry": .object([
                    "attempts_max": .integer(50), "delay_base": .integer(1),
                    "delay_max": .integer(2),
                ])
            ]
        )
        try await bench.wait(id, until: "waiting_for_retry")
        #expect(try await bench.task(id).error?.code == "could_not_connect")
        bench.names.know("moving.test", .addresses(["127.0.0.1"]))
        try await bench.wait(id, until: "completed")
        await bench.end()
    }

    @Test func ofAThousandAddressesOneIsEnough() async throws {
        let bench = try await Bench()
        let refusing = (0..<999).map { "127.0.\(1 + $0 / 250).\(1 + $0 % 250)" }
        bench.names.know("many.test", .addresses(refusing + ["127.0.0.1"]))
        let id = try await bench.submit("many.test")
        try await bench.wait(id, until: "completed")
        #expect(try await bench.task(id).attempt == 1)
        await bench.end()
    }

    /// The names of one session, each of which is silent for five seconds, cost no other session of
    /// the tenant an attempt.
    @Test func aSessionWhoseNamesHangDoesNotHoldBackAnother() async throws {
        let bench = try await Bench()
        bench.names.know("host.test", .addresses(["127.0.0.1"]))
        try await bench.client.makeSession("hangs")
        let silent = (0..<40).map { "silent-\($0).test" }
        for name in silent { bench.names.know(name, .silence) }
        _ = try await bench.client.submit(silent.map { "http://\($0)/" }, to: "hangs")
        try await eventually("its names have the threads that they may have") {
            bench.names.namesAsked.count >= 6
        }
        // Two rounds of names would take longer.
        let id = try await bench.submit(
            "host.test",
            [
                "timeout_for_request": .integer(6),
                "retry": .object(["attempts_max": .integer(1)]),
            ]
        )
        try await bench.wait(id, until: "completed")
        await bench.end()
    }

    /// Names without an answer hold neither slots nor threads for longer than their deadline.
    @Test func silenceHoldsNothingUp() async throws {
        let bench = try await Bench()
        bench.names.know("host.test", .addresses(["127.0.0.1"]))
        let before = try bench.service.threadCount()
        /// The maximum number of simultaneous lookups.
        let namesMax = 16
        let options: [String: JSONValue] = [
            "timeout_for_request": .integer(2), "retry": .object(["attempts_max": .integer(1)]),
        ]
        var silent: [String] = []
        for number in 0..<40 {
            let name = "silent-\(number).test"
            bench.names.know(name, .silence)
            silent.append(try await bench.submit(name, options))
        }
        let id = try await bench.submit("host.test")
        try await bench.wait(id, until: "completed")
        for id in silent {
            try await bench.wait(id, until: "failed")
            let code = try await bench.task(id).error?.code
            #expect(["could_not_resolve_host", "timed_out"].contains(code))
        }
        #expect(try bench.service.threadCount() < before + namesMax + 8)
        await bench.end()
    }
}
