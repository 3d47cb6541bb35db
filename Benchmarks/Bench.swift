import ArgumentParser
import Foundation
import Glibc

/// `transferd-bench`: transferd beside its peers, on this machine, in one run.
///
/// Absolute figures say little on a shared machine; the ratios within one run do.
@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transferd-bench",
        abstract: "Measure the service beside curl --parallel and aria2."
    )

    @Option(help: "The built service.")
    var transferd: String

    @Option(help: "Small files a round.")
    var files = 20_000

    @Option(help: "Rounds; the medians of them are told.")
    var rounds = 3

    @Option(help: "Transfers at once, for all contenders.")
    var parallel = 64

    @Option(help: "Bytes of the large file.")
    var largeBytes = 1 << 30

    @Option(help: "Bytes of the file behind a narrow line.")
    var middleBytes = 128 << 20

    @Option(help: "Bytes a second of each connection on that line.")
    var narrowRate: Int64 = 8_000_000

    @Option(help: "Only the contenders whose name holds this.")
    var only = ""

    @Option(help: "Where files go; a file system that can be flushed, so not tmpfs.")
    var folder = "/tmp"

    @Option(help: "Webhooks a round, delivered beside a receiver that never answers.")
    var webhooks = 20_000

    @Option(help: "Downloads one by one whose webhooks are timed; 0 for none.")
    var downloads = 300

    @Option(help: "Subscriptions without events beside which those are timed again; 0 for none.")
    var subscriptions = 10_000

    @Option(help: "Slow transfers at once, whose memory is told first; 0 for none.")
    var slow = 0

    @Flag(help: "Measure the service alone, for work on it.")
    var alone = false

    func validate() throws {
        guard webhooks >= Submission.batchMax, webhooks % Submission.batchMax == 0 else {
            throw ValidationError("--webhooks is a multiple of \(Submission.batchMax), from it on.")
        }
        guard slow >= 0, slow % Submission.batchMax == 0 else {
            throw ValidationError("--slow is a multiple of \(Submission.batchMax), or 0.")
        }
        guard downloads >= 0, subscriptions >= 0 else {
            throw ValidationError("--downloads and --subscriptions are counts, from 0 on.")
        }
        guard files > 0, files % Submission.batchMax == 0, rounds > 0 else {
            throw ValidationError("--files is a multiple of \(Submission.batchMax), from it on.")
        }
    }

    func run() async throws {
        let folder = try Folder(in: folder)
        defer { folder.remove() }
        let origin = try await Origin(
            folder: folder,
            largeBytes: largeBytes,
            middleBytes: middleBytes,
            narrowRate: narrowRate
        )
        defer { origin.stop() }
        if slow > 0 {
            try await SlowTransfers(
                program: transferd,
                folder: folder,
                origin: origin,
                count: slow
            ).measure()
        }
        var table = Table()
        if downloads > 0, only.isEmpty || "at rest".contains(only) {
            try await AtRest(
                program: transferd,
                folder: folder,
                downloads: downloads,
                subscriptions: subscriptions
            ).measure(into: &table)
        }
        let service = try await Service(
            program: transferd,
            folder: folder,
            parallel: parallel
        )
        defer { service.stop() }
        let aria2 = try await Aria2(folder: folder, parallel: parallel)
        defer { aria2.stop() }
        let curl = CurlCommand(folder: folder, parallel: parallel)

        for round in 1...rounds {
            print("round \(round) of \(rounds)")
            let small = origin.smallURLs(count: files)
            // A tenth of the files: the rate does not depend on it and aria2 takes its time.
            let some = Array(small.prefix(files / 10))
            let large = [origin.largeURL]
            let checksum = ",\"checksums\":{\"sha-256\":\"\(origin.largeSHA256)\"}"
            let many = "\"segments_max\":16"
            let middle = [origin.middleURL]
            let contenders: [(String, () async throws -> Double)] = [
                ("\(files) x 16 KiB, transferd", { try await service.download(small) }),
                ("\(files) x 16 KiB, curl --parallel", { try await curl.download(small) }),
                ("\(files) x 16 KiB, aria2 RPC", { try await aria2.download(some) * 10 }),
                (
                    "\(webhooks) webhooks, transferd",
                    { try await service.deliver(webhooks, to: origin) }
                ),
                ("1 large file, transferd", { try await service.download(large) }),
                (
                    "1 large file, sha-256, transferd",
                    { try await service.download(large, task: checksum) }
                ),
                (
                    "1 narrow line, 16, transferd",
                    { try await service.download(middle, configuration: many) }
                ),
                ("1 narrow line, transferd", { try await service.download(middle) }),
                ("1 narrow line, aria2c -x16", { try await aria2.download(overMany: middle[0]) }),
                ("1 narrow line, curl", { try await curl.download(middle) }),
                ("1 large file, curl", { try await curl.download(large) }),
                ("1 large file, curl, sync", { try await curl.download(large, durably: true) }),
            ]
            for (name, measure) in contenders where !alone || name.hasSuffix("transferd") {
                guard only.isEmpty || name.contains(only) else { continue }
                // What one left unwritten, the next must not be made to wait for.
                sync()
                let isWebhooks = name.hasPrefix("\(webhooks) webhooks")
                table.add(name, try await measure(), for: isWebhooks ? webhooks : nil)
            }
        }
        table.print(
            comparing: [
                ("\(files) x 16 KiB, transferd", "\(files) x 16 KiB, curl --parallel"),
                ("\(files) x 16 KiB, transferd", "\(files) x 16 KiB, aria2 RPC"),
                ("1 large file, transferd", "1 large file, curl"),
                ("1 large file, transferd", "1 large file, curl, sync"),
                ("1 large file, sha-256, transferd", "1 large file, transferd"),
                ("1 narrow line, 16, transferd", "1 narrow line, aria2c -x16"),
                ("1 narrow line, transferd", "1 narrow line, aria2c -x16"),
                ("1 narrow line, 16, transferd", "1 narrow line, curl"),
            ])
        try print("service CPU \(service.cpuSeconds()) s, peak memory \(service.peakMiB()) MiB")
    }
}
