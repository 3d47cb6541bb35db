import Foundation
import Testing
import TransferClient
import TransferMetrics
import TransferTestSupport
import TransferWire

/// `/metrics` of a running service.
@Suite(.timeLimit(.minutes(3))) struct MetricsTests {
    /// The samples of a scrape, by name and labels as they are written.
    private func scrape(_ service: ServiceProcess) async throws -> [String: Double] {
        // Without a key.
        let http = HTTPClient(service, key: "none")
        let answer = try await http.send("GET", "/metrics")
        #expect(answer.status == 200)
        #expect(answer.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        let text = String(decoding: answer.body, as: UTF8.self)
        let names = Set(Metric.allCases.map(\.rawValue))
        var samples: [String: Double] = [:]
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# TYPE ") {
                #expect(names.contains(String(line.split(separator: " ")[2])))
            }
            guard !line.hasPrefix("#") else { continue }
            let space = try #require(line.lastIndex(of: " "))
            let number = try #require(Double(line[space...].dropFirst()))
            #expect(samples.updateValue(number, forKey: String(line[..<space])) == nil)
        }
        return samples
    }

    @Test func whatHappensIsCounted() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let receiver = try WebhookReceiver()
        origin.when("/file", .response(body: .random(seed: 1, size: 3000)))
        origin.when("/missing", .response(404))
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        let http = try HTTPClient(service, key: directory.apiKey())
        try await client.makeSession("secret-name")
        _ = try await client.subscribe(SubscriptionRequest(url: receiver.open()))
        _ = try await client.submit(
            [origin.url("/file"), origin.url("/file"), origin.url("/missing")],
            to: "secret-name"
        )
        let expected: [String: Double] = [
            #"transferd_attempts_total{outcome="completed",code=""}"#: 2,
            #"transferd_attempts_total{outcome="failed",code="http_status"}"#: 1,
            #"transferd_attempt_bytes_total{direction="received"}"#: 6000,
            "transferd_attempt_duration_seconds_count": 3,
            #"transferd_tasks{state="completed"}"#: 2,
            #"transferd_tasks{state="failed"}"#: 1,
        ]
        var samples: [String: Double] = [:]
        try await eventually("all is told") {
            samples = try await scrape(service)
            return expected.allSatisfy { samples[$0.key] == $0.value }
                && samples[#"transferd_deliveries_total{outcome="delivered"}"#] ?? 0 > 0
        }
        #expect(samples["transferd_database_up"] == 1)
        let difference = try #require(samples["transferd_clock_difference_seconds"])
        #expect(abs(difference) < 1)
        #expect(samples["transferd_workers"] == 1)
        for resource in ["storage_full", "database_full"] {
            #expect(samples[#"transferd_shortage{resource="\#(resource)"}"#] == 0)
        }
        #expect(samples["transferd_container_free_bytes"] ?? 0 > 0)
        #expect(samples["process_resident_memory_bytes"] ?? 0 > 1_000_000)
        let submit = #"method="POST",route="/v1/sessions/{identifier}/tasks",status="202""#
        #expect(samples["transferd_http_requests_total{\(submit)}"] == 1)
        let unknown = #"method="GET",route="none",status="404""#
        #expect(samples["transferd_http_requests_total{\(unknown)}"] == nil)
        _ = try await http.send("GET", "/v1/nowhere/\(UUID())")
        let later = try await scrape(service)
        #expect(later["transferd_http_requests_total{\(unknown)}"] == 1)
        // Neither names nor addresses are told.
        for key in later.keys {
            #expect(!key.contains("secret-name") && !key.contains("127.0.0.1"), "\(key)")
        }
        #expect(await service.terminate() == 0)
    }

    /// Prometheus' own judgement of the names, units, help texts and types.
    @Test func prometheusFindsNothingToCorrect() async throws {
        let directory = try DataDirectory()
        let folder = try TestFolder("metrics")
        let service = try await ServiceProcess(in: directory)
        let client = try HTTPClient(service, key: directory.apiKey())
        // Some series are there only once something has happened.
        #expect(try await client.send("PUT", "/v1/sessions/s", "{}").status == 201)
        let scrape = try await client.send("GET", "/metrics")
        let file = "\(folder.path)/metrics"
        try Data(scrape.body).write(to: URL(filePath: file))
        let found = try await CommandLine.run(
            "/bin/sh",
            ["-c", "promtool check metrics < '\(file)' 2>&1"]
        )
        #expect(found.status == 0, "\(found.output)")
        #expect(found.output.isEmpty, "\(found.output)")
        #expect(await service.terminate() == 0)
    }

    @Test func metricsCanBeTurnedOff() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory, ["--metrics", "off"])
        let http = try HTTPClient(service, key: directory.apiKey())
        #expect(try await http.send("GET", "/metrics").status == 404)
        #expect(await service.terminate() == 0)
    }
}
