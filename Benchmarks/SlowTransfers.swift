import Foundation
import TransferClient
import TransferWire

/// Many long simultaneous transfers, and the memory that each costs.
struct SlowTransfers {
    let program: String
    let folder: Folder
    let origin: Origin
    let count: Int

    /// The time within which all of them must have started.
    private static let beginMax: Duration = .seconds(120)
    /// The time for which they then continue before the measurement, so that each has had some
    /// bytes.
    private static let settling: Duration = .seconds(5)

    /// Runs them, and prints the memory of the service before and meanwhile.
    func measure() async throws {
        let service = try await Service(program: program, folder: folder, parallel: count)
        defer { service.stop() }
        let atStart = try service.residentKiB()
        // Memory that the first transfers leave behind is not a cost of each.
        _ = try await service.download(origin.smallURLs(count: SubmitRequest.tasksMax))
        let before = try service.residentKiB()
        let session = try await service.session()
        let start = ContinuousClock.now
        try await service.submit(origin.slowURLs(count: count), to: session)
        // Each transfer has a socket and a part file.
        while try service.descriptors() < 2 * count {
            guard ContinuousClock.now - start < Self.beginMax else {
                throw Program.Failure(
                    description: "not all of \(count) slow transfers run; is `ulimit -n` "
                        + "above \(2 * count + 1000)?"
                )
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        let begun = (ContinuousClock.now - start) / .seconds(1)
        let cpu = try service.cpuSeconds()
        try await Task.sleep(for: Self.settling)
        let during = try service.residentKiB()
        let load = try (service.cpuSeconds() - cpu) / (Self.settling / .seconds(1)) * 100
        print("\(count) slow transfers at once, all running after \(begun.rounded()) s")
        print(
            "  service after its start \(atStart / 1024) MiB, after \(SubmitRequest.tasksMax) small "
                + "files \(before / 1024) MiB, with them \(during / 1024) MiB:"
        )
        print("  \(Table.format(Double(during - before) / Double(count))) KiB each")
        print("  \(load.rounded()) % of a core")
        try await service.client.invalidateSession(session)
    }
}
