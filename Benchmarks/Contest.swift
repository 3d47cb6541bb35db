import Foundation
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
        /// The service with one thread for transfers; nil when nobody asks for it.
        let single: Service?
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
        let contenders = try
            (contenders + middleContenders(overTLS: false) + middleContenders(overTLS: true))
            .filter { isWanted($0.name) }
        guard !contenders.isEmpty else { return }
        let service = try await Service(program: program, folder: folder, parallel: parallel)
        defer { service.stop() }
        let isSingleWanted = contenders.contains { $0.name.contains(Self.oneThread) }
        let single =
            isSingleWanted
            ? try await Service(program: program, folder: folder, parallel: parallel, threads: 1)
            : nil
        defer { single?.stop() }
        let aria2 = try await Aria2(folder: folder, parallel: parallel)
        defer { aria2.stop() }
        let rclone = try await rclone()
        defer { rclone?.stop() }
        let field = Field(
            service: service,
            single: single,
            aria2: aria2,
            curl: CurlCommand(
                folder: folder,
                parallel: parallel,
                certificate: origin.certificate
            ),
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
        return try await Rclone(
            folder: folder,
            parallel: parallel,
            certificate: origin.certificate
        )
    }

    private static let oneThread = "one thread"
    private static let middleFiles = 12

    /// The names of several middle files, without TLS and with it.
    private func middleName(overTLS: Bool, _ contender: String) -> String {
        "\(Self.middleFiles) x \(origin.middleMiB) MiB\(overTLS ? " over TLS" : ""), \(contender)"
    }

    /// Several middle files at once, which one thread alone cannot receive as fast as the machine.
    private func middleContenders(overTLS: Bool) throws -> [Contender] {
        let urls = origin.middleURLs(count: Self.middleFiles, overTLS: overTLS)
        let trusted = JSONValue.object([
            "certificate_authorities": .string(
                try String(contentsOfFile: origin.certificate, encoding: .utf8)
            )
        ])
        let task = overTLS ? OptionMembers(["tls": trusted]) : OptionMembers()
        return [
            Contender(name: middleName(overTLS: overTLS, "transferd")) {
                try await $0.service.download(urls, task: task)
            },
            Contender(name: middleName(overTLS: overTLS, "\(Self.oneThread), transferd")) {
                try await $0.single?.download(urls, task: task)
            },
            Contender(name: middleName(overTLS: overTLS, "curl --parallel")) {
                try await $0.curl.download(urls)
            },
            Contender(name: middleName(overTLS: overTLS, "rclone rcd")) {
                try await $0.rclone?.download(urls)
            },
        ]
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
        for overTLS in [false, true] {
            for peer in ["\(Self.oneThread), transferd", "curl --parallel", "rclone rcd"] {
                table.compare(
                    middleName(overTLS: overTLS, "transferd"),
                    to: middleName(overTLS: overTLS, peer)
                )
            }
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
