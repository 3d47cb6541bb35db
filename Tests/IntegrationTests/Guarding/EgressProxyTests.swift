import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// A service whose requests leave through a proxy, which leads every tunnel to one origin.
@Suite(.timeLimit(.minutes(5))) struct EgressProxyTests {
    /// A public address, which nothing on this machine has.
    private static let address = "93.184.216.34"

    private struct Bench {
        let origin: LoopbackOrigin
        let proxy: ConnectProxy
        let service: ServiceProcess
        let client: HTTPClient
        let users: TransferService
        private let folder: TestFolder
        private let directory: DataDirectory

        /// Starts the service, which by default reaches nothing on this machine but the proxy.
        init(
            _ options: [String] = [],
            proxyHost: String = "127.0.0.1",
            allowed: [String] = [],
            nameServer: NameServer? = nil,
            environment: [String: String] = [:]
        ) async throws {
            origin = try LoopbackOrigin()
            origin.when("/file", .response(body: .text("found")))
            origin.when("/hook", .response(204))
            proxy = try ConnectProxy(to: origin.port)
            folder = try TestFolder("proxy")
            let file = "\(folder.path)/credential"
            try folder.write("me:secret\n", to: "credential")
            chmod(file, 0o400)
            directory = try DataDirectory()
            service = try await ServiceProcess(
                in: directory,
                [
                    "--egress-proxy", "http://\(proxyHost):\(proxy.port)",
                    "--egress-proxy-credential-file", file,
                ] + options,
                allowed: allowed,
                nameServer: nameServer,
                environment: environment
            )
            let key = try directory.apiKey()
            client = HTTPClient(service, key: key)
            users = service.client(key: key)
            #expect(try await client.send("PUT", "/v1/sessions/s", "{}").status == 201)
        }

        /// Submits tasks that are written as JSON.
        func submit(tasks: [String], to session: String) async throws -> [String] {
            let requests = try tasks.map {
                try JSONDecoder().decode(TaskRequest.self, from: Data($0.utf8))
            }
            return try await users.submit(requests, toSession: session).map(\.id)
        }

        func task(_ id: String, is state: String) async throws -> TaskDocument {
            var task: TaskDocument?
            try await eventually("the task is \(state)") {
                task = try await client.get("/v1/tasks/\(id)", as: TaskDocument.self)
                return task?.state == state
            }
            return try #require(task)
        }

        /// Everything that the origin has met came through the proxy, with its credential.
        func end(_ location: SourceLocation = #_sourceLocation) async {
            #expect(await service.terminate() == 0, sourceLocation: location)
            #expect(
                origin.log.now.connectionsAccepted == proxy.log.tunnels,
                sourceLocation: location
            )
            let isKnown = proxy.log.heads.allSatisfy { $0.contains(" Basic bWU6c2VjcmV0\r\n") }
            #expect(isKnown, sourceLocation: location)
            origin.stop()
            proxy.stop()
        }
    }

    @Test func allKindsOfRequestsLeaveThroughIt() async throws {
        let bench = try await Bench()
        let host = "http://\(Self.address)"
        let hook = try await bench.client.send(
            "POST",
            "/v1/subscriptions",
            #"{"url": "\#(host)/hook"}"#
        )
        #expect(hook.status == 201)
        let made = await bench.client.status("PUT", "/v1/sessions/e", #"{"kind": "ephemeral"}"#)
        #expect(made == 201)
        let put = #""method": "PUT", "upload": {"body": {"base64": "AAAA"}}"#
        var ids = try await bench.submit(
            tasks: [
                #"{"url": "\#(host)/file"}"#,
                #"{"url": "\#(host)/file", "kind": "upload", \#(put)}"#,
            ],
            to: "s"
        )
        ids += try await bench.submit(
            tasks: [#"{"url": "\#(host)/file", "kind": "data"}"#],
            to: "e"
        )
        for id in ids { _ = try await bench.task(id, is: "completed") }
        try await eventually("the webhooks are delivered") {
            bench.origin.log.now.requests(at: "/hook").count >= 1
        }
        #expect(Set(bench.proxy.log.targets) == ["\(Self.address):80"])
        #expect(bench.origin.log.now.requests(at: "/file").map(\.method).sorted().last == "PUT")
        let attempts = try await bench.client.send("GET", "/v1/tasks/\(ids[0])/attempts")
        // The proxy is none of the client's business.
        #expect(String(decoding: attempts.body, as: UTF8.self).contains(Self.address))
        await bench.end()
    }

    @Test func tokensAreFetchedThroughIt() async throws {
        let bench = try await Bench(allowed: ["127.0.0.0/8"])
        bench.origin.when(
            "/token",
            .response(body: .text(#"{"access_token": "fresh", "token_type": "bearer"}"#))
        )
        let credential = """
            {"kind": "oauth2_refresh_token", "client_id": "me", "refresh_token": "renew",
             "token_url": "\(bench.origin.url("/token"))"}
            """
        #expect(await bench.client.status("PUT", "/v1/credentials/c", credential) == 201)
        let url = bench.origin.url("/file")
        let tasks = [#"{"url": "\#(url)", "credential": "c"}"#]
        _ = try await bench.task(bench.submit(tasks: tasks, to: "s")[0], is: "completed")
        #expect(bench.origin.log.now.requests(at: "/token").count == 1)
        let request = bench.origin.log.now.requests(at: "/file").first
        #expect(request?["Authorization"] == "Bearer fresh")
        await bench.end()
    }

    @Test(arguments: ["127.0.0.1", "localhost", "10.1.2.3", "[::1]", "169.254.169.254"])
    func whatIsInsideIsNotAskedOfIt(host: String) async throws {
        let bench = try await Bench()
        let url = "http://\(host):\(bench.origin.port)/file"
        let id = try await bench.users.submit([url], to: "s")[0]
        #expect(try await bench.task(id, is: "failed").error?.code == "egress_denied")
        #expect(bench.proxy.log.connections == 0)
        await bench.end()
    }

    /// What an operator has to mend is waited for, and a task with a bound keeps it.
    @Test func aRefusedCredentialFailsNoTaskAtOnce() async throws {
        let bench = try await Bench()
        bench.proxy.answers { _ in .status(407) }
        let url = "http://\(Self.address)/file"
        let bounded = #"{"url": "\#(url)", "retry": {"attempts_max": 2, "delay_base": 1}}"#
        let ids = try await bench.submit(tasks: [bounded, #"{"url": "\#(url)"}"#], to: "s")
        let failed = try await bench.task(ids[0], is: "failed")
        #expect(failed.error?.code == "proxy_credential_refused")
        #expect(failed.attempt == 2)
        let waiting = try await bench.task(ids[1], is: "waiting_for_connectivity")
        #expect(waiting.error?.code == "proxy_credential_refused")
        bench.proxy.answers { _ in .tunnel }
        _ = try await bench.task(ids[1], is: "completed")
        await bench.end()
    }

    @Test func whatTheProxyForbidsIsNotTriedAgain() async throws {
        let bench = try await Bench()
        bench.proxy.answers { _ in .status(403) }
        let id = try await bench.users.submit(["http://\(Self.address)/file"], to: "s")[0]
        let task = try await bench.task(id, is: "failed")
        #expect(task.error?.code == "proxy_refused")
        #expect(task.attempt == 1)
        await bench.end()
    }

    /// Names are resolved here, that of the proxy too, and no variable of the environment leads
    /// anything past it.
    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func theProxyIsToldTheAddressThatWasJudged() async throws {
        let names = try NameServer()
        defer { names.stop() }
        names.know("proxy.test", .addresses(["127.0.0.1"]))
        names.know("origin.test", .addresses(["10.0.0.1", Self.address]))
        names.know("inside.test", .addresses(["127.0.0.1"]))
        names.know("direct.test", .addresses(["127.0.0.1"]))
        let elsewhere = try ConnectProxy(to: 9)
        defer { elsewhere.stop() }
        var environment = ["no_proxy": "*", "NO_PROXY": "*"]
        for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            environment[name] = elsewhere.url
        }
        let bench = try await Bench(
            ["--egress-direct-host", "direct.test"],
            proxyHost: "proxy.test",
            nameServer: names,
            environment: environment
        )
        let ids = try await bench.users.submit(
            ["origin", "inside", "direct"].map {
                "http://\($0).test:\(bench.origin.port)/file"
            },
            to: "s"
        )
        _ = try await bench.task(ids[0], is: "completed")
        for id in ids[1...] {
            #expect(try await bench.task(id, is: "failed").error?.code == "egress_denied")
        }
        #expect(bench.proxy.log.targets == ["\(Self.address):\(bench.origin.port)"])
        let request = try #require(bench.origin.log.now.requests(at: "/file").first)
        #expect(request["Host"] == "origin.test:\(bench.origin.port)")
        #expect(elsewhere.log.connections == 0)
        await bench.end()
    }

    /// A direct host is reached without the proxy, as far as the rules allow.
    @Test func aDirectHostIsReachedWithoutIt() async throws {
        let bench = try await Bench([
            "--egress-direct-host", "127.0.0.1", "--allow-network", "127.0.0.0/8",
        ])
        let url = bench.origin.url("/file")
        let id = try await bench.users.submit([url], to: "s")[0]
        _ = try await bench.task(id, is: "completed")
        #expect(bench.proxy.log.connections == 0)
        #expect(bench.origin.log.now.connectionsAccepted > 0)
        #expect(await bench.service.terminate() == 0)
    }

    /// Without a proxy of its own, the service uses none.
    @Test func theEnvironmentNamesNoProxy() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/file", .response(body: .text("found")))
        let elsewhere = try ConnectProxy(to: origin.port)
        defer { elsewhere.stop() }
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        let directory = try DataDirectory()
        let service = try await ServiceProcess(
            in: directory,
            environment: Dictionary(uniqueKeysWithValues: names.map { ($0, elsewhere.url) })
        )
        let key = try directory.apiKey()
        let client = HTTPClient(service, key: key)
        #expect(try await client.send("PUT", "/v1/sessions/s", "{}").status == 201)
        let id = try await service.client(key: key).submit([origin.url("/file")], to: "s")[0]
        try await eventually("the task is completed") {
            try await client.get("/v1/tasks/\(id)", as: TaskDocument.self).state == "completed"
        }
        #expect(elsewhere.log.connections == 0)
        #expect(await service.terminate() == 0)
    }
}
