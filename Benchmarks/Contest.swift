import Glibc
import TransferWire

/// transferd beside other downloaders, in turn, round by round.
struct Contest {
    let program: String
    let folder: Folder
    let origin: Origin
    let files: Int
    let webhooks: Int
    let rounds: Int
    let parallel: Int
    /// Returns whether a contender takes part.
    let isWanted: (String) -> Bool

    /// The running contenders.
    private struct Field {
        let service: Service
        let aria2: Aria2
        let curl: CurlCommand
        /// The rclone daemon; nil when rclone is not installed.
        let rclone: Rclone?
    }

    private struct Contender {
        let name: String
        /// The amount of work, when the rate is of interest.
        var count: Int?
        /// Returns seconds, or nil for a contender that is not there.
        let measure: (Field) async throws -> Double?
    }

    func measure(into table: inout Table) async throws {
        let contenders = contenders.filter { isWanted($0.name) }
        guard !contenders.isEmpty else { return }
        let service = try await Service(program: program, folder: folder, parallel: parallel)
        defer { service.stop() }
        let aria2 = try await Aria2(folder: folder, parallel: parallel)
        defer { aria2.stop() }
        let rclone = try await rclone()
        defer { rclone?.stop() }
        let field = Field(
            service: service,
            aria2: aria2,
            curl: CurlCommand(folder: folder, parallel: parallel),
            rclone: rclone
        )
        for round in 1...rounds {
            print("round \(round) of \(rounds)")
            for contender in contenders {
                // The next contender must not wait for data that the previous one left unwritten.
                sync()
                guard let seconds = try await contender.measure(field) else { continue }
                table.add(contender.name, seconds, for: contender.count)
            }
        }
        compare(in: &table)
        try print("service CPU \(service.cpuSeconds()) s, peak memory \(service.peakMiB()) MiB")
    }

    private func rclone() async throws -> Rclone? {
        guard Program.exists("rclone") else {
            print("rclone is left out: it is not installed; .ci/setup --bench does that.")
            return nil
        }
        return try await Rclone(folder: folder, parallel: parallel)
    }

    private var contenders: [Contender] {
        let small = origin.smallURLs(count: files)
        // A tenth of the files: the rate does not depend on the number, and aria2 is slow.
        let some = Array(small.prefix(files / 10))
        let large = [origin.largeURL]
        let pacedLarge = [origin.pacedLargeURL]
        let checksums = JSONValue.object(["sha-256": .string(origin.largeSHA256)])
        let checked = OptionMembers(["checksums": checksums])
        let many = OptionMembers(["segments_max": .integer(16)])
        let middle = [origin.middleURL]
        return [
            Contender(name: "\(files) x 16 KiB, transferd") {
                try await $0.service.download(small)
            },
            Contender(name: "\(files) x 16 KiB, curl --parallel") {
                try await $0.curl.download(small)
            },
            Contender(name: "\(files) x 16 KiB, rclone rcd") {
                try await $0.rclone?.download(small)
            },
            Contender(name: "\(files) x 16 KiB, aria2 RPC") {
                try await $0.aria2.download(some) * 10
            },
            Contender(name: "\(webhooks) webhooks, transferd", count: webhooks) {
                try await $0.service.deliver(webhooks, to: origin)
            },
            Contender(name: "1 large file, transferd") { try await $0.service.download(large) },
            Contender(name: "1 large file, sha-256, transferd") {
                try await $0.service.download(large, task: checked)
            },
            Contender(name: "1 large file, paced, transferd") {
                try await $0.service.download(pacedLarge)
            },
            Contender(name: "1 large file, paced, sha-256, transferd") {
                try await $0.service.download(pacedLarge, task: checked)
            },
            Contender(name: "1 narrow line, 16, transferd") {
                try await $0.service.download(middle, configuration: many)
            },
            Contender(name: "1 narrow line, transferd") { try await $0.service.download(middle) },
            Contender(name: "1 narrow line, aria2c -x16") {
                try await $0.aria2.download(overMany: middle[0])
            },
            Contender(name: "1 narrow line, curl") { try await $0.curl.download(middle) },
            Contender(name: "1 large file, curl") { try await $0.curl.download(large) },
            Contender(name: "1 large file, curl, sync") {
                try await $0.curl.download(large, durably: true)
            },
        ]
    }

    private func compare(in table: inout Table) {
        for peer in ["curl --parallel", "rclone rcd", "aria2 RPC"] {
            table.compare("\(files) x 16 KiB, transferd", to: "\(files) x 16 KiB, \(peer)")
        }
        table.compare("1 large file, transferd", to: "1 large file, curl")
        table.compare("1 large file, transferd", to: "1 large file, curl, sync")
        table.compare("1 large file, sha-256, transferd", to: "1 large file, transferd")
        table.compare(
            "1 large file, paced, sha-256, transferd",
            to: "1 large file, paced, transferd"
        )
        table.compare("1 narrow line, 16, transferd", to: "1 narrow line, aria2c -x16")
        table.compare("1 narrow line, transferd", to: "1 narrow line, aria2c -x16")
        table.compare("1 narrow line, 16, transferd", to: "1 narrow line, curl")
    }
}
