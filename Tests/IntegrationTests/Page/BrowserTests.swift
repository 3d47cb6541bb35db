import ChildProcess
import Foundation
import Testing
import TransferTestSupport

/// The page at `/` in a real browser; `browser/page_test.py` has the cases.
@Suite(.timeLimit(.minutes(10))) struct BrowserTests {
    /// Where the pictures of the last run stay, beside the tests' executable.
    private static let screenshots = URL(filePath: Program.path).deletingLastPathComponent()
        .appending(path: "page-screenshots").path

    @Test func everyCaseOfThePageHolds() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let key = try TestFolder("key")
        try key.write(try await adminKey(in: directory), to: "key")
        let output = try directory.log()
        let run = try ChildProcess(
            try TestTools.program("python"),
            [
                "\(Checkout.root)/Tests/IntegrationTests/Page/browser/page_test.py",
                "\(service.announcement.port)", "\(key.path)/key", Self.screenshots,
            ],
            environment: Program.environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 },
            errors: .overwriting(output)
        )
        let status = await run.status()
        let printed = try String(contentsOfFile: output, encoding: .utf8)
        #expect(status == 0, "\(printed.suffix(20_000))")
        // Had it found no case, nothing would have failed either.
        let count = printed.firstMatch(of: #/Ran (\d+) tests/#).flatMap { Int($0.1) }
        #expect(try #require(count) >= 15)
        let pictures = try FileManager.default.contentsOfDirectory(atPath: Self.screenshots)
        #expect(pictures.contains("session-dark-320.png"))
        #expect(await service.terminate() == 0)
    }

    @Test func thePageCanBeTurnedOff() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory, ["--page", "off"])
        let client = try HTTPClient(service, key: directory.apiKey())
        for path in ["/", "/page/app.js"] {
            #expect(try await client.send("GET", path).status == 404)
            // Who looks there is not told that a key would help.
            #expect(await HTTPClient(service, key: "none").status("GET", path) == 404)
        }
        #expect(try await client.send("GET", "/v1/tenant").status == 200)
        #expect(await service.terminate() == 0)
    }

    /// Makes a key with every scope, also that of managing keys.
    private func adminKey(in directory: DataDirectory) async throws -> String {
        let made = try await Program.run(
            ["keys", "create", "--scopes", "read,submit,control,webhooks,admin"]
                + directory.options
        )
        #expect(made.status == 0)
        return made.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
