import ChildProcess
import Foundation
import Testing
import TransferTestSupport

/// Requests that a program generates from `openapi.yaml`, valid and not, and the answers to them.
@Suite(.timeLimit(.minutes(10))) struct SchemathesisTests {
    @Test func everyAnswerIsAsTheDocumentSays() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        // So that all operations are there.
        _ = try await directory.run("tenants", "create", "checks", "--for-tests")
        let scopes = "read,submit,control,webhooks,admin"
        let keys = try await directory.run(
            ["keys", "create", "--tenant", "checks", "--scopes", scopes]
        )
        let key = try #require(keys.lines.first?.first)
        let output = try directory.log()
        let address = "http://127.0.0.1:\(service.announcement.port)"
        let run = try ChildProcess(
            try TestTools.program("st"),
            [
                "--config-file", "\(Checkout.root)/.ci/schemathesis.toml",
                "run", "\(Checkout.root)/openapi.yaml", "--url", address,
                "--header", "Authorization: Bearer \(key)",
                "--phases", "examples,coverage,fuzzing", "--max-examples", "5",
                "--request-timeout", "60", "--seed", "1", "--continue-on-failure",
                "--warnings", "off", "--no-color",
            ],
            // Its cache of examples is in its working directory.
            in: directory.path,
            environment: Program.environment.merging(["PYTHONUNBUFFERED": "1"]) { $1 },
            output: .piped,
            errors: .overwriting(output)
        )
        let text = Task {
            var lines: [String] = []
            while let line = await run.line() {
                lines.append(String(decoding: line, as: UTF8.self))
            }
            return lines.joined()
        }
        let status = await run.status()
        let printed = await text.value
        #expect(status == 0, "\(printed.suffix(20_000))")
        // Had it not looked at every operation, nothing would have failed either.
        let operations = try OpenAPIDocument(
            yaml: String(contentsOfFile: "\(Checkout.root)/openapi.yaml", encoding: .utf8)
        ).operations.count
        #expect(printed.contains("Tested: \(operations)"))
        #expect(await service.terminate() == 0)
    }
}
