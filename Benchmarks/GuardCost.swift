import ChildProcess
import Foundation
import Glibc
import TransferWire

/// The share of the service's processor time that goes into checking keys, judging addresses and
/// sealing, while it downloads small files.
///
/// None of these can be switched off, and so perf(1) samples the stacks of the running service and
/// counts those that pass through their code. Work of PostgreSQL is in neither number.
struct GuardCost {
    let program: String
    let folder: Folder
    let origin: Origin
    let files: Int
    let parallel: Int

    static let name = "guard"

    /// The parts, with what the symbols of their code contain and those of no other; the first two
    /// have a bound of 3 % together.
    private static let parts = [
        (
            "keys",
            ["Authenticator", "PresentedKey", "KnownKeys", "KeyWatch", "WrongKeyThrottle"]
        ),
        (
            "egress guard",
            [
                "EgressGuard", "EgressPolicy", "EgressRules", "TenantRules", "OwnEndpoints",
                "SocketAddress", "prerequestCallback", "allowsConnection",
            ]
        ),
        // The cipher's assembly keeps no frames, so that all of it counts, whoever called it.
        ("sealing", ["SecretBox", "RowSealer", "DerivedKeys", "BoringSSL", "aes_", "gcm_"]),
    ]
    /// The samples of a second of processor time.
    private static let frequency = 499

    func measure(into table: inout Table) async throws {
        guard Program.exists("perf") else {
            return print("\(Self.name) is left out: perf is not installed.")
        }
        let service = try await Service(program: program, folder: folder, parallel: parallel)
        defer { service.stop() }
        let plain = origin.smallURLs(count: files)
        _ = try await service.download(Array(plain.prefix(SubmitRequest.tasksMax)))
        try await sample(service, "\(SubmitRequest.tasksMax) tasks a request", into: &table) {
            _ = try await service.download(plain)
        }
        try await sample(service, "1 task a request", into: &table) {
            let session = try await service.session()
            let path = APIPath.tasks(ofSession: session)
            let bodies = plain.map {
                HTTPLoad.post(
                    path,
                    to: service.base,
                    key: service.key,
                    json: #"{"url":"\#($0)"}"#
                )
            }
            _ = try await HTTPLoad(base: service.base, connections: parallel).send(bodies)
            _ = try await service.download([], in: session)
        }
        // What of a task is sealed: its fields, and the query of its URL.
        try await sample(service, "with a field and a query each", into: &table) {
            _ = try await service.download(
                plain.map { "\($0)?signature=0123456789abcdef" },
                headers: ["Authorization": "Bearer 0123456789abcdef"]
            )
        }
    }

    private func sample(
        _ service: Service,
        _ load: String,
        into table: inout Table,
        during work: () async throws -> Void
    ) async throws {
        let file = try folder.directory("perf") + "/samples"
        let recorder = try Program.start(
            "perf",
            [
                "record", "--quiet", "--pid", "\(service.pid)", "--event", "cpu-clock",
                "--freq", "\(Self.frequency)", "--call-graph", "fp", "--output", file,
            ]
        )
        try await work()
        recorder.signal(SIGINT)
        // It ends with the signal's status, and has written its file all the same.
        recorder.waitUntilExit()
        let text = try Program.output("perf", ["script", "--input", file, "--fields", "ip,sym"])
        var counts = [Int](repeating: 0, count: Self.parts.count)
        var total = 0
        for stack in text.split(separator: "\n\n") {
            total += 1
            let part = Self.parts.firstIndex { _, words in words.contains { stack.contains($0) } }
            if let part { counts[part] += 1 }
        }
        guard total > 0 else { throw Program.Failure(description: "perf has sampled nothing") }
        func share(_ count: Int) -> Double { 100 * Double(count) / Double(total) }
        for (index, part) in Self.parts.enumerated() {
            table.add("\(part.0), \(load)", share(counts[index]), in: .share)
        }
        let sum = counts.prefix(2).reduce(0, +)
        table.add("keys and egress guard, \(load)", share(sum), in: .share)
        print("  of \(total) samples")
    }
}
