import Foundation
import Glibc
import TransferClient
import TransferModel
import TransferWire

/// What a tenant with few requests feels of another one with as many as it can send.
struct QuietTenant {
    let program: String
    let folder: Folder
    let origin: Origin

    static let name = "quiet tenant"

    /// The number of requests of each kind that are timed.
    private static let requests = 500
    private static let pause: Duration = .milliseconds(5)
    private static let downloads = 100
    /// The number of downloads before any is timed, and of tasks in the list of the flood.
    private static let warming = 10
    private static let listed = 10_000
    /// The number of small files of a flood, which last for longer than it is measured, and of slow
    /// ones, which last for ever.
    private static let files = 400_000
    private static let slowFiles = 1_000
    /// The time in which a flood becomes steady.
    private static let settling: Duration = .seconds(2)
    private static let floodTenant = "flood"
    /// The length of large bodies, and of each client string in one of them.
    private static let bodyBytes = 15 << 20
    private static let stringBytes = 60_000

    /// The loops that show what any use of all processors costs, without a single request.
    private static let loops = "idle loops on all processors"

    private struct Kind {
        let name: String
        let connections: Int
        let requests: [[UInt8]]
    }

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { database in
            try await database.makeLogFiles()
            let service = try await Service(program: program, database: database, parallel: 64)
            defer { service.stop() }
            _ = try await service.latencies(of: Self.warming)
            let key = try floodKey(database)
            let kinds = try await kinds(service, key)
            sync()
            try await Task.sleep(for: Self.settling)
            try await measure(service, "alone", &table)
            let loops = try FloodProcess(loops: ProcessInfo.processInfo.activeProcessorCount)
            try await measure(service, "beside \(Self.loops)", &table)
            _ = try await loops.stop()
            for kind in kinds {
                let flood = try FloodProcess(
                    kind.requests,
                    to: service.base,
                    connections: kind.connections,
                    folder: folder
                )
                let start = ContinuousClock.now
                try await Task.sleep(for: Self.settling)
                do {
                    try await measure(service, "beside \(kind.name)", &table)
                } catch {
                    _ = try await flood.stop()
                    throw error
                }
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                table.add(
                    "requests of the flood, \(kind.name)",
                    Double(try await flood.stop()) / seconds,
                    in: .perSecond
                )
            }
            let slow = origin.slowURLs(count: Self.slowFiles)
            let small = origin.smallURLs(count: Self.files)
            let tasks = [("slow files", slow), ("small files", small)]
            for (name, urls) in tasks {
                try await measure(
                    service,
                    key,
                    beside: urls,
                    "beside \(urls.count) \(name)",
                    &table
                )
            }
        }
    }

    /// Measures beside tasks of the flooding tenant that run meanwhile.
    private func measure(
        _ service: Service,
        _ key: String,
        beside urls: [String],
        _ circumstance: String,
        _ table: inout Table
    ) async throws {
        let client = TransferService(url: service.base, apiKey: key)
        let session = try await client.makeSession(UUID().uuidString).identifier
        for start in stride(from: 0, to: urls.count, by: SubmitRequest.tasksMax) {
            let part = urls[start..<min(start + SubmitRequest.tasksMax, urls.count)]
            try await client.submit(part.map { TaskRequest(target: .url($0)) }, toSession: session)
        }
        let (start, before) = (ContinuousClock.now, try await client.session(session).completed)
        try await measure(service, circumstance, &table)
        let after = try await client.session(session)
        guard after.outstanding > 0 else {
            throw Program.Failure(description: "the flood \(circumstance) was over too soon")
        }
        table.add(
            "files of the flood, \(circumstance)",
            Double(after.completed - before) / ((ContinuousClock.now - start) / .seconds(1)),
            in: .perSecond
        )
        try await client.invalidateSession(session)
    }

    /// Makes a key of the flooding tenant.
    private func floodKey(_ database: MeasuredDatabase) throws -> String {
        try Program.output(
            program,
            [
                "keys", "create", "--tenant", Self.floodTenant, "--database-url", database.url,
                "--data-directory", database.data,
            ]
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func kinds(_ service: Service, _ key: String) async throws -> [Kind] {
        let client = TransferService(url: service.base, apiKey: key)
        let session = try await client.makeSession(UUID().uuidString).identifier
        let batch = Array(repeating: Self.task, count: SubmitRequest.tasksMax)
        for _ in 0..<Self.listed / batch.count {
            try await client.submit(batch, toSession: session)
        }
        let sessions = (0..<4).map { "flood-\($0)" }
        for session in sessions { try await client.makeSession(session) }
        func posts(_ json: String) -> [[UInt8]] {
            sessions.map {
                HTTPLoad.post(
                    APIPath.tasks(ofSession: $0),
                    to: service.base,
                    key: key,
                    json: json
                )
            }
        }
        _ = try await client.tasks(ofSession: session)
        let path = APIPath.tasks(ofSession: session)
        let list = HTTPLoad.get("\(path)?limit=200", from: service.base, key: key)
        let wrong = HTTPLoad.get("\(path)?limit=201", from: service.base, key: key)
        let unknown = HTTPLoad.get(
            APIPath.session(session),
            from: service.base,
            key: Self.unknownKey(like: key)
        )
        let task = try Self.json(Self.task)
        let bad = String(repeating: " ", count: Self.bodyBytes) + "[\(task),]"
        let long = Array(
            repeating: TaskRequest(
                target: Self.task.target,
                clientPersistedString: String(repeating: "a", count: Self.stringBytes),
                earliestBeginAt: Self.task.earliestBeginAt
            ),
            count: Self.bodyBytes / Self.stringBytes
        )
        return [
            Kind(name: "32 lists of 200 tasks at once", connections: 32, requests: [list]),
            Kind(name: "32 wrong parameters at once", connections: 32, requests: [wrong]),
            Kind(name: "8 times 15 MiB of bad JSON at once", connections: 8, requests: posts(bad)),
            Kind(
                name: "8 submissions of 15 MiB at once",
                connections: 8,
                requests: posts(try Self.json(long))
            ),
            Kind(name: "32 unknown keys at once", connections: 32, requests: [unknown]),
            Kind(name: "64 submissions of a task at once", connections: 64, requests: posts(task)),
            Kind(
                name: "32 submissions of 1,000 tasks at once",
                connections: 32,
                requests: posts(try Self.json(batch))
            ),
        ]
    }

    /// A task that does not begin: the flood is one of requests.
    private static let task = TaskRequest(
        target: .url("http://127.0.0.1:9/"),
        earliestBeginAt: Timestamp(.distantFuture)
    )

    private static func json(_ document: some Encodable) throws -> String {
        String(decoding: try WireEncoder.encode(document), as: UTF8.self)
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
        let read = HTTPLoad.get(
            APIPath.session(session),
            from: service.base,
            key: service.key
        )
        let submission = HTTPLoad.post(
            APIPath.tasks(ofSession: session),
            to: service.base,
            key: service.key,
            json: try Self.json(Self.task)
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
        let latencies = try await service.latencies(of: Self.downloads)
        let starts = latencies.map { $0.started / .milliseconds(1) }
        let finished = latencies.map { $0.finished / .milliseconds(1) }
        for (kind, values) in [
            ("read", reads), ("submit one task", submissions),
            ("accepted to a file sent", starts),
        ] {
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
        try await service.client.invalidateSession(session)
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
