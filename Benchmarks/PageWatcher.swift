import ChildProcess
import Foundation

/// The page in a real browser, open on one session.
struct PageWatcher {
    /// What the browser tells in the end.
    struct Report: Decodable {
        /// The number of requests of the page, its own files among them.
        let requests: Int
        /// What the browser has written to its console.
        let complaints: [String]
    }

    private static let script = "Benchmarks/watch-page.py"

    private let process: ChildProcess
    private let keyboard = Pipe()

    /// Opens the page on a session, and waits until its view is live.
    ///
    /// Browser and driver have the lowest priority: what a reader's machine computes is no work of
    /// the service.
    ///
    /// - Parameters:
    ///   - service: the service that the page is of.
    ///   - session: the identifier of the session.
    ///   - python: a Python that has selenium.
    /// - Throws: ``Program/Failure`` when the page does not open.
    init(of service: Service, session: String, python: String) async throws {
        process = try ChildProcess(
            "nice",
            ["-n", "19", python, Self.script, service.base, session],
            input: keyboard.fileHandleForReading.fileDescriptor,
            output: .piped,
            errors: .descriptor(STDERR_FILENO)
        )
        try keyboard.fileHandleForWriting.write(contentsOf: Data("\(service.key)\n".utf8))
        guard await process.line() == Data("open\n".utf8) else {
            process.kill()
            throw Program.Failure(description: "the page did not open")
        }
    }

    /// Closes the page.
    func close() async throws -> Report {
        try keyboard.fileHandleForWriting.close()
        guard let line = await process.line() else {
            throw Program.Failure(description: "the page's browser ended")
        }
        _ = await process.status()
        return try JSONDecoder().decode(Report.self, from: line)
    }
}
