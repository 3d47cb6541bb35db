import ChildProcess
import Foundation
import TransferClient
import TransferWire

/// An instance of transferd, on its private PostgreSQL or another, with the settings a user would
/// have except for the caps.
struct Service {
    private let process: ChildProcess
    /// Its data directory.
    let data: String
    /// Its address.
    let base: String
    let key: String
    /// What its users have: everything is asked through it, but for loads whose sender must cost
    /// the machine as little as possible (``HTTPLoad``).
    let client: TransferService

    private struct Address: Decodable {
        let port: Int
    }

    /// The number of tasks from which on their end is awaited closely; a look costs as much as some
    /// small files.
    private static let lastTasks = 1000
    /// The service's own bound.
    private static let connectionsPerHostMax = 1000

    /// Starts the service with a private PostgreSQL, and with `threads` for transfers (nil for as
    /// many as it takes by itself).
    init(program: String, folder: Folder, parallel: Int, threads: Int? = nil) async throws {
        try await self.init(
            program: program,
            data: try folder.directory(threads.map { "service-\($0)" } ?? "service"),
            key: nil,
            parallel: parallel,
            perHost: parallel,
            options: threads.map { ["--transfer-threads", "\($0)"] } ?? []
        )
    }

    /// Starts the service on a database that others may use too.
    ///
    /// It runs `roles`, separated by commas (nil for all roles), with up to `parallel` simultaneous
    /// transfers, of which `perHost` may be to one host (nil for `parallel`).
    init(
        program: String,
        database: MeasuredDatabase,
        roles: String? = nil,
        parallel: Int,
        perHost: Int? = nil
    ) async throws {
        try await self.init(
            program: program,
            data: database.data,
            key: database.key,
            parallel: parallel,
            perHost: perHost ?? parallel,
            options: ["--database-url", database.url] + (roles.map { ["--roles", $0] } ?? [])
        )
    }

    private init(
        program: String,
        data: String,
        key: String?,
        parallel: Int,
        perHost: Int,
        options: [String]
    ) async throws {
        self.data = data
        process = try Program.start(
            program,
            [
                "serve", "--port", "0", "--data-directory", data, "--allow-network", "127.0.0.0/8",
                "--concurrency", "\(parallel)",
                "--connections-per-host", "\(min(perHost, Self.connectionsPerHostMax))",
                "--log-level", "error",
            ] + options,
            output: .piped
        )
        guard let line = await process.line() else {
            throw Program.Failure(description: "transferd ended")
        }
        let address = try JSONDecoder().decode(Address.self, from: line)
        base = "http://127.0.0.1:\(address.port)"
        self.key =
            try key
            ?? String(contentsOfFile: "\(data)/api-key", encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        client = TransferService(url: base, apiKey: self.key)
    }

    /// Downloads `urls` as one session, with options of each task and of the session.
    ///
    /// - Returns: seconds from before the first submission until every task is completed, durably.
    func download(
        _ urls: [String],
        task: OptionMembers = OptionMembers(),
        headers: [String: String]? = nil,
        configuration: OptionMembers = OptionMembers()
    ) async throws -> Double {
        try await download(
            urls,
            in: try await session(configuration: configuration),
            task: task,
            headers: headers
        )
    }

    /// Downloads `urls` in a session that is there.
    ///
    /// - Returns: the same.
    func download(
        _ urls: [String],
        in session: String,
        task: OptionMembers = OptionMembers(),
        headers: [String: String]? = nil
    ) async throws -> Double {
        let start = ContinuousClock.now
        try await submit(urls, to: session, task: task, headers: headers)
        while true {
            let progress = try await client.session(session)
            guard progress.failed == 0 else { throw Program.Failure(description: "tasks failed") }
            if progress.outstanding == 0 { break }
            let isNearItsEnd = progress.outstanding < Self.lastTasks
            try await Task.sleep(for: .milliseconds(isNearItsEnd ? 5 : 50))
        }
        return (ContinuousClock.now - start) / .seconds(1)
    }

    /// Makes a session and returns its identifier.
    func session(configuration: OptionMembers = OptionMembers()) async throws -> String {
        let request = SessionRequest(
            configuration: SessionConfigurationRequest(options: configuration)
        )
        return try await client.makeSession(UUID().uuidString, request).identifier
    }

    func submit(
        _ urls: [String],
        to session: String,
        task: OptionMembers = OptionMembers(),
        headers: [String: String]? = nil
    ) async throws {
        for start in stride(from: 0, to: urls.count, by: SubmitRequest.tasksMax) {
            let batch = urls[start..<min(start + SubmitRequest.tasksMax, urls.count)]
            try await client.submit(
                batch.map { TaskRequest(target: .url($0), headers: headers, options: task) },
                toSession: session
            )
        }
    }

    /// Its process identifier.
    var pid: Int32 { process.pid }

    func stop() {
        process.signal(SIGTERM)
        process.waitUntilExit()
    }

    /// Returns the processor time of the service without its PostgreSQL.
    func cpuSeconds() throws -> Double {
        let text = try String(
            contentsOfFile: "/proc/\(process.pid)/stat",
            encoding: .utf8
        )
        let fields = text.split(separator: " ")
        let ticks = (Double(fields[13]) ?? 0) + (Double(fields[14]) ?? 0)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    func peakMiB() throws -> Int { try statusKiB("VmHWM") / 1024 }

    /// Returns the memory that the service holds now, without its PostgreSQL.
    func residentKiB() throws -> Int { try statusKiB("VmRSS") }

    private func statusKiB(_ name: String) throws -> Int {
        let text = try String(
            contentsOfFile: "/proc/\(process.pid)/status",
            encoding: .utf8
        )
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") } ?? ""
        return Int(line.filter(\.isNumber)) ?? 0
    }

    /// Returns the number of sockets and files that the service has open.
    func descriptors() throws -> Int {
        try FileManager.default
            .contentsOfDirectory(atPath: "/proc/\(process.pid)/fd").count
    }
}
