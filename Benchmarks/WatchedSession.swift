import Foundation
import Glibc
import TransferWire

/// What it costs the service that somebody watches a session on the page.
struct WatchedSession {
    let program: String
    let folder: Folder
    let origin: Origin
    let files: Int
    let parallel: Int
    let rounds: Int
    /// The path of a Python that has selenium; see `.ci/setup --test`.
    let python: String

    static let name = "page"

    func measure(into table: inout Table) async throws {
        guard Program.exists(python), Program.exists("chromium") else {
            print("the page is left out: .ci/setup --test installs a browser and its driver.")
            return
        }
        let service = try await Service(program: program, folder: folder, parallel: parallel)
        defer { service.stop() }
        // Work that only the very first downloads cause belongs to neither.
        _ = try await service.download(origin.smallURLs(count: SubmitRequest.tasksMax))
        for round in 1...rounds {
            // What the rounds before have left behind burdens both alike.
            for isWatched in round.isMultiple(of: 2) ? [false, true] : [true, false] {
                sync()
                try await measure(service, isWatched: isWatched, into: &table)
            }
        }
        let (open, closed) = (Self.label(true, files), Self.label(false, files))
        table.compare(open, to: closed)
        table.compare("processor time, \(open)", to: "processor time, \(closed)")
    }

    private static func label(_ isWatched: Bool, _ files: Int) -> String {
        "\(files) x 16 KiB, page \(isWatched ? "open" : "closed")"
    }

    private func measure(
        _ service: Service,
        isWatched: Bool,
        into table: inout Table
    ) async throws {
        let session = try await service.session()
        let page =
            isWatched
            ? try await PageWatcher(of: service, session: session, python: python) : nil
        let before = try service.work()
        let seconds = try await service.download(origin.smallURLs(count: files), in: session)
        let after = try service.work()
        let label = Self.label(isWatched, files)
        table.add(label, seconds)
        table.add(
            "processor time, \(label)",
            after.service + after.postgres - before.service - before.postgres
        )
        guard let report = try await page?.close() else { return }
        table.add("requests of the page", Double(report.requests), in: .count)
        guard report.complaints.isEmpty else {
            throw Program.Failure(description: "the browser: \(report.complaints)")
        }
    }
}
