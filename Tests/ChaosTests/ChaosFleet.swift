import ChildProcess
import EmbeddedPostgres
import Foundation
import Glibc
import Logging
import TransferTestSupport

/// Several processes of the service on one database, with the faults that can happen to them.
actor ChaosFleet {
    /// The place of a process: the process, unless it is not there, and how to start it.
    private struct Place {
        let options: [String]
        var service: ServiceProcess?
        /// The client for the time of faults, and that for any other time.
        var clients: (hurried: HTTPClient, patient: HTTPClient)?
        var isFrozen = false
        let answersClients: Bool
    }

    /// The time limit of an answer amid faults; a longer one comes from a process that is frozen or
    /// lost its database.
    private static let hurriedTimeout: Duration = .seconds(4)
    /// The time limit of an answer of a process that has no fault but may be slow: a request that
    /// is given up is made again elsewhere, though it may have been performed.
    private static let patientTimeout: Duration = .seconds(60)
    private static let startTimeout: Duration = .seconds(90)

    let directory: DataDirectory
    private let disk: ChaosDisk?
    /// The cluster, held so that it outlives the service that started it.
    private var cluster: EmbeddedCluster
    private let links: [ChaosLink]
    private let origin: ChaosLink
    private let receiver: UnsteadyReceiver
    private var places: [Place] = []
    private var isHurried = false
    private let logger = Logger(label: "chaos") { _ in SwiftLogNoOpLogHandler() }
    /// The faults that this machine does not allow.
    private(set) var skipped: Set<ChaosFault.Kind> = []

    init(origin: ChaosLink, receiver: UnsteadyReceiver) async throws {
        self.origin = origin
        self.receiver = receiver
        directory = try DataDirectory()
        disk = try ChaosDisk(at: "\(directory.path)/containers")
        cluster = try await EmbeddedCluster.start(in: directory.path, logger: logger)
        let socket = "\(directory.path)/run/.s.PGSQL.5432"
        links = try (1..<ChaosPlan.services).map { _ in try ChaosLink(toSocket: socket) }
        let common = ["--connections-per-host", "64"]
        let urls = links.map { link in
            "host=127.0.0.1 port=\(link.port) user=transferd dbname=postgres sslmode=disable"
        }
        places = [
            Place(options: common, answersClients: true),
            Place(
                options: common + ["--roles", "worker,webhooks", "--database-url", urls[0]],
                answersClients: false
            ),
            Place(
                options: common + ["--roles", "api,worker", "--database-url", urls[1]],
                answersClients: true
            ),
        ]
        for number in places.indices { try await start(number) }
    }

    /// Says whether there are faults from now on, amid which no answer is waited for long.
    func hurry(_ isHurried: Bool) { self.isHurried = isHurried }

    /// Sends a request to any process that answers; nil when none does.
    func send(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        idempotencyKey: String? = nil
    ) async -> (status: Int, body: [UInt8])? {
        let living = places.filter { $0.answersClients && !$0.isFrozen }
        let clients = living.compactMap(\.clients).map { isHurried ? $0.hurried : $0.patient }
        for client in clients.shuffled() {
            let answer = try? await client.send(
                method,
                path,
                body,
                idempotencyKey: idempotencyKey
            )
            if let answer, answer.status != 503 { return (answer.status, answer.body) }
        }
        return nil
    }

    /// Starts a fault.
    func begin(_ fault: ChaosFault) async throws {
        let place = fault.victim % places.count
        // The first service has no network between itself and its database.
        let link = links[fault.victim % links.count]
        switch fault.kind {
        case .killService: await kill(place)
        case .killFleet: for number in places.indices { await kill(number) }
        case .terminateService: await terminate(place)
        case .freezeService:
            places[place].service?.pause()
            places[place].isFrozen = true
        case .killDatabase: signalDatabase(SIGKILL)
        case .stopDatabase: signalDatabase(SIGQUIT)
        case .cutDatabase: link.cut()
        case .slowDatabase: link.slow(delay: .milliseconds(50), rate: 1_000_000)
        case .cutOrigin: origin.cut()
        case .slowOrigin: origin.slow(delay: .milliseconds(50), rate: 100_000)
        case .fullDisk:
            disk?.fill()
            if disk == nil { skipped.insert(.fullDisk) }
        case .readOnlyDisk: if disk?.forbid() != true { skipped.insert(.readOnlyDisk) }
        case .fewDescriptors: try await limitDescriptors(of: place, toWhatItHas: true)
        case .receiverAway: receiver.leave()
        }
    }

    /// Ends a fault; a process that does not start now is started with the next fault.
    func end(_ fault: ChaosFault) async throws {
        let place = fault.victim % places.count
        switch fault.kind {
        case .killService, .killFleet, .terminateService: break
        case .freezeService:
            places[place].service?.resume()
            places[place].isFrozen = false
        case .killDatabase, .stopDatabase: try await revive()
        case .cutDatabase, .slowDatabase: links[fault.victim % links.count].mend()
        case .cutOrigin, .slowOrigin: origin.mend()
        case .fullDisk, .readOnlyDisk: disk?.mend()
        case .fewDescriptors: try await limitDescriptors(of: place, toWhatItHas: false)
        case .receiverAway: try await receiver.comeBack()
        }
        for number in places.indices where places[number].service == nil {
            try? await start(number)
        }
    }

    /// Waits until all processes run and report that they are ready.
    func heal() async throws {
        for link in links { link.mend() }
        origin.mend()
        disk?.mend()
        try await receiver.comeBack()
        try await revive()
        for number in places.indices {
            places[number].service?.resume()
            places[number].isFrozen = false
            try await limitDescriptors(of: number, toWhatItHas: false)
            try await eventually("service \(number) is ready", within: Self.startTimeout) {
                if places[number].service == nil { try? await start(number) }
                return await places[number].clients?.hurried.status("GET", "/readyz") == 200
            }
        }
    }

    /// Asks all processes to end, and then the database.
    ///
    /// - Returns: the exit statuses of the processes.
    func terminate() async -> [Int32] {
        var statuses: [Int32] = []
        for number in places.indices {
            if let status = await terminate(number) { statuses.append(status) }
        }
        return statuses
    }

    /// Releases the database, so that its last user stops it.
    func close() async { await cluster.stop() }

    private func signalDatabase(_ signal: Int32) {
        if let server = directory.databaseServer { _ = Glibc.kill(server, signal) }
    }

    private func revive() async throws {
        try await eventually("the database is back", within: Self.startTimeout) {
            do {
                cluster = try await EmbeddedCluster.start(in: directory.path, logger: logger)
                return true
            } catch {
                return false
            }
        }
    }

    private func start(_ number: Int) async throws {
        let service = try await ServiceProcess(in: directory, places[number].options)
        places[number].service = service
        let key = try directory.apiKey()
        places[number].clients = (
            hurried: HTTPClient(service, key: key, timeout: Self.hurriedTimeout),
            patient: HTTPClient(service, key: key, timeout: Self.patientTimeout)
        )
    }

    private func kill(_ number: Int) async {
        _ = await places[number].service?.killNow()
        leave(number)
    }

    @discardableResult
    private func terminate(_ number: Int) async -> Int32? {
        places[number].service?.resume()
        let status = await places[number].service?.terminate()
        leave(number)
        return status
    }

    private func leave(_ number: Int) {
        places[number].service = nil
        places[number].clients = nil
        places[number].isFrozen = false
    }

    /// Limits a process to the descriptors that it has, or restores its maximum.
    private func limitDescriptors(of number: Int, toWhatItHas isTight: Bool) async throws {
        guard let pid = places[number].service?.announcement.pid else { return }
        let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
        let limits = (try? String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)) ?? ""
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        let hard = line?.split(separator: " ").dropLast().last ?? "1024"
        let soft = isTight ? open.map { "\($0 + 1)" } ?? String(hard) : String(hard)
        let process = try ChildProcess(
            "/usr/bin/prlimit",
            ["--pid", "\(pid)", "--nofile=\(soft):\(hard)"],
            environment: Program.environment
        )
        if await process.status() != 0 { skipped.insert(.fewDescriptors) }
    }
}
