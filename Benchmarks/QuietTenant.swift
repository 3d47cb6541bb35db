import Foundation
import Glibc
import TransferModel

/// What a tenant with few requests feels of another one with as many as it can send.
struct QuietTenant {
    let program: String
    let folder: Folder

    static let name = "quiet tenant"

    /// The number of requests of each kind that are timed.
    private static let requests = 500
    private static let pause: Duration = .milliseconds(5)
    private static let downloads = 30
    /// The number of downloads before any is timed, and of tasks in the list of the flood.
    private static let warming = 10
    private static let listed = 10_000
    /// The time in which a flood becomes steady.
    private static let settling: Duration = .seconds(2)
    private static let floodTenant = "flood"
    private static let badJSONBytes = 15 << 20

    /// The loops that show what any use of all processors costs, without a single request.
    private static let loops = "idle loops on all processors"

    private struct Kind {
        let name: String
        let connections: Int
        let requests: [[UInt8]]
    }

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { database in
            let service = try await Service(program: program, database: database, parallel: 64)
            defer { service.stop() }
            _ = try await service.latencies(of: Self.warming)
            let kinds = try await kinds(service, database)
            sync()
            try await Task.sleep(for: Self.settling)
            try await measure(service, "alone", &table)
            let loops = Flood(loops: ProcessInfo.processInfo.activeProcessorCount)
            try await measure(service, "beside \(Self.loops)", &table)
            _ = await loops.stop()
            for kind in kinds {
                let flood = try Flood(
                    kind.requests,
                    to: service.base,
                    connections: kind.connections
                )
                let start = ContinuousClock.now
                try await Task.sleep(for: Self.settling)
                do {
                    try await measure(service, "beside \(kind.name)", &table)
                } catch {
                    _ = await flood.stop()
                    throw error
                }
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                table.add(
                    "requests of the flood, \(kind.name)",
                    Double(await flood.stop()) / seconds,
                    in: .perSecond
                )
            }
        }
    }

    private func kinds(_ service: Service, _ database: MeasuredDatabase) async throws -> [Kind] {
        let key = try Program.output(
            program,
            [
                "keys", "create", "--tenant", Self.floodTenant, "--database-url", database.url,
                "--data-directory", database.data,
            ]
        ).trimmingCharacters(in: .whitespacesAndNewlines)
        // None of these tasks begins: the flood is one of requests.
        let task = #"{"url":"http://127.0.0.1:9/","earliest_begin_at":"2999-01-01T00:00:00Z"}"#
        let batch = Array(repeating: task, count: Submission.batchMax).joined(separator: ",")
        let session = "/v1/sessions/\(UUID().uuidString)"
        _ = try await Web.send("PUT", service.base + session, key: key, json: "{}")
        for _ in 0..<Self.listed / Submission.batchMax {
            _ = try await Web.send(
                "POST",
                "\(service.base)\(session)/tasks",
                key: key,
                json: "[\(batch)]"
            )
        }
        let sessions = (0..<4).map { "/v1/sessions/flood-\($0)" }
        for session in sessions {
            _ = try await Web.send("PUT", service.base + session, key: key, json: "{}")
        }
        func posts(_ json: String) -> [[UInt8]] {
            sessions.map {
                HTTPLoad.post("\($0)/tasks", to: service.base, key: key, json: json)
            }
        }
        let page = "\(session)/tasks?limit=200"
        _ = try await Web.send("GET", service.base + page, key: key)
        let list = HTTPLoad.get(page, from: service.base, key: key)
        let wrong = HTTPLoad.get("\(session)/tasks?limit=201", from: service.base, key: key)
        let unknown = HTTPLoad.get(session, from: service.base, key: Self.unknownKey(like: key))
        let bad = String(repeating: " ", count: Self.badJSONBytes) + "[\(task),]"
        return [
            Kind(name: "32 lists of 200 tasks at once", connections: 32, requests: [list]),
            Kind(name: "32 wrong parameters at once", connections: 32, requests: [wrong]),
            Kind(name: "8 times 15 MiB of bad JSON at once", connections: 8, requests: posts(bad)),
            Kind(name: "32 unknown keys at once", connections: 32, requests: [unknown]),
            Kind(name: "64 submissions of a task at once", connections: 64, requests: posts(task)),
            Kind(
                name: "32 submissions of 1,000 tasks at once",
                connections: 32,
                requests: posts("[\(batch)]")
            ),
        ]
    }

    /// Returns a key of the same form that nobody has.
    private static func unknownKey(like key: String) -> String {
        String(key.dropLast(8)) + "AAAAAAAA"
    }

    private func measure(
        _ service: Service,
        _ circumstance: String,
        _ table: inout Table
    ) async throws {
        let session = try await service.session()
        let path = String(session.dropFirst(service.base.count))
        let read = HTTPLoad.get(path, from: service.base, key: service.key)
        let submission = HTTPLoad.post(
            "\(path)/tasks",
            to: service.base,
            key: service.key,
            json: #"{"url":"http://127.0.0.1:9/","earliest_begin_at":"2999-01-01T00:00:00Z"}"#
        )
        let connection = try LoadConnection(to: LoadConnection.port(of: service.base))
        var reads: [Double] = []
        var submissions: [Double] = []
        for _ in 0..<Self.requests {
            reads.append(try Self.milliseconds(of: read, over: connection))
            try await Task.sleep(for: Self.pause)
            submissions.append(try Self.milliseconds(of: submission, over: connection))
            try await Task.sleep(for: Self.pause)
        }
        let finished = try await service.latencies(of: Self.downloads).map {
            $0.finished / .milliseconds(1)
        }
        for (kind, values) in [("read", reads), ("submit one task", submissions)] {
            for percent in [50, 99] {
                let name = "\(Self.name), \(kind), p\(percent), "
                table.add(
                    name + circumstance,
                    Table.percentile(percent, of: values),
                    in: .milliseconds
                )
                for reference in ["alone", "beside \(Self.loops)"] where reference != circumstance {
                    table.compare(name + circumstance, to: name + reference)
                }
            }
        }
        table.add(
            "\(Self.name), last byte to its webhook, slowest of \(Self.downloads), \(circumstance)",
            finished.max() ?? 0,
            in: .milliseconds
        )
        try await service.invalidate(session)
    }

    private static func milliseconds(
        of request: [UInt8],
        over connection: LoadConnection
    ) throws -> Double {
        let start = ContinuousClock.now
        let answer = try connection.exchange(request)
        guard (200...299).contains(answer.status) else {
            throw Program.Failure(description: answer.text)
        }
        return (ContinuousClock.now - start) / .milliseconds(1)
    }
}
