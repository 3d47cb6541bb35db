import ArgumentParser
import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

@testable import transferctl

@Suite struct ServiceOptionsTests {
    /// What a shell makes of a command line, one word on a line.
    private func words(_ line: String) throws -> [String] {
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", #"transferctl() { printf '%s\n' "$@"; }; "# + line]
        let output = Pipe()
        shell.standardOutput = output
        try shell.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        shell.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func aCommandIsPastedAsItIsMeant() throws {
        for name in ["plain", "my photos", "it's", "$HOME `id`", "a\"b\\", "*", "写真", "~"] {
            let options = try ServiceOptions.parse(["--context", name])
            let line = options.command("get", ShellWords.option("--session", name))
            #expect(try words(line) == ["get", "--context", name, "--session", name])
        }
    }

    @Test func aNameThatLooksLikeAnOptionIsNone() throws {
        let options = try ServiceOptions.parse([])
        let list = options.listOfFailures(in: "-x")
        #expect(list == "transferctl tasks --state failed -- -x")
        let get = options.command("get", ShellWords.option("--session", "-x"))
        #expect(get == "transferctl get --session=-x")
        #expect(ShellWords.quoted("") == "''")
    }

    @Test func contextsOfWhichNoneIsCurrentAreNamed() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "contexts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "contexts.json").path
        for (file, advice) in [
            (ContextFile(), "add a context"),
            (
                ContextFile(
                    contexts: ["one": ContextFile.Context(url: "http://one", apiKey: "key")]
                ),
                "transferctl contexts use NAME"
            ),
        ] {
            try file.write(to: path)
            let error = #expect(throws: TransferError.self) {
                try ServiceOptions.parse([]).service(environment: ["TRANSFERCTL_CONFIG": path])
            }
            #expect(error?.message.contains(advice) == true)
        }
    }

    @Test func advicesNothingThatTheCommandDoesNotHave() {
        let advice = "The last event here has the number 7. Ask without `after`."
        let error = TransferError(
            ProblemDetails(.eventsExpired, detail: advice, requestID: "r")
        )
        #expect(error.line.hasPrefix("events_expired: "))
        #expect(!error.line.contains("after`") && error.line.contains("Start the command again."))
        let other = TransferError(.unreachable, "Nobody is there.")
        #expect(other.line == "unreachable: Nobody is there.")
    }

    @Test func saysHowAListenerIsReached() {
        let fault = FieldError(pointer: "/url", .forbiddenAddress, "Not there.")
        let error = TransferError(
            ProblemDetails(.validationFailed, detail: nil, errors: [fault], requestID: "r")
        )
        #expect(error.line.hasPrefix("validation_failed: "))
        #expect(error.line.contains("--allow-network 127.0.0.0/8"))
    }

    @Test func namesTheServiceThatCannotBeReached() async throws {
        let nowhere = try HeldPort()
        defer { withExtendedLifetime(nowhere) {} }
        let url = "http://127.0.0.1:\(nowhere.number)"
        var service = try ServiceOptions.parse([]).service(
            environment: ["TRANSFERD_URL": url, "TRANSFERD_API_KEY": "key"]
        )
        service.retryPolicy.attemptsMax = 1
        let once = service
        let error = await #expect(throws: TransferError.self) { try await once.sessions() }
        #expect(
            error?.line
                == "unreachable: \(url): The service could not be reached: Connection refused."
        )
    }
}
