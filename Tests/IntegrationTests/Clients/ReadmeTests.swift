import ChildProcess
import Foundation
import Glibc
import Testing
import TransferTestSupport
import TransferWire

/// What a newcomer pastes from the README, beside a service that `make run` would start.
@Suite(.timeLimit(.minutes(5))) struct ReadmeTests {
    /// The blocks of shell under three headings, with a folder in place of `/tmp` and another port
    /// of the origin.
    private static func blocks(in folder: TestFolder, port: UInt16) throws -> [String] {
        let readme = try String(contentsOfFile: "\(Checkout.root)/README.md", encoding: .utf8)
        let parts = readme.components(separatedBy: "\n## ")
        let titles = ["Your first webhook", "The REST API", "The command line"]
        let text = titles.compactMap { title in parts.first { $0.hasPrefix(title) } }.joined()
        return text.components(separatedBy: "\n```sh\n").dropFirst().map { block in
            block.components(separatedBy: "\n```")[0]
                .replacingOccurrences(of: "/tmp/", with: "\(folder.path)/")
                .replacingOccurrences(of: "9000", with: "\(port)")
        }
    }

    @Test func everyBlockDoesWhatIsSaidAlsoWhenPastedAgain() async throws {
        let directory = try DataDirectory()
        let folder = try TestFolder("readme")
        let environment = Program.environment.merging([
            "TRANSFERD_DATA_DIRECTORY": directory.path,
            "TRANSFERCTL_CONFIG": "\(folder.path)/contexts.json",
        ]) { $1 }
        let service = try ChildProcess(
            "\(Checkout.root)/.ci/serve",
            [Program.path, "--port", "0", "--resources", Checkout.root],
            in: Checkout.root,
            environment: environment,
            output: .piped,
            errors: .overwriting(try directory.log())
        )
        defer { service.kill() }
        _ = try #require(await service.line())
        func shell(_ script: String, output: String) throws -> ChildProcess {
            try ChildProcess(
                "bash",
                ["-c", script],
                in: Checkout.root,
                environment: environment,
                output: .overwriting("\(folder.path)/\(output)"),
                errors: .overwriting("\(folder.path)/\(output)-errors"),
                isGroupLeader: true
            )
        }
        func text(_ name: String) throws -> String {
            try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
        }

        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let blocks = try Self.blocks(in: folder, port: held.number)
        #expect(blocks.count == 8)
        let listener = try shell(blocks[0], output: "hooks")
        defer { listener.kill() }
        try await eventually("it listens") { try text("hooks-errors").contains("listening") }
        // The third terminal, where each block is pasted twice.
        let pasted = blocks[1...].map { "\($0)\necho; echo '=== end'" }.joined(separator: "\n")
        let user = try shell("\(pasted)\n\(pasted)", output: "user")
        _ = await user.status()
        let errors = try text("user-errors")
        let outputs = try text("user").components(separatedBy: "=== end\n").dropLast()
        try #require(outputs.count == 14, "\(outputs.joined()) \(errors)")

        for (round, name) in ["openapi.yaml", "openapi-1.yaml"].enumerated() {
            let output = Array(outputs[(7 * round)..<(7 * round + 7)])
            #expect(output[0].contains("/photos/\(name)"))
            #expect(output[1].contains("session.events_finished"))
            #expect(output[1].contains("0 completed, \(round + 1) failed"))
            #expect(output[2].contains(#""identifier":"archive""#))
            #expect(output[2].contains(#""items":["#))
            #expect(output[3].contains(#""name":"mirror""#))
            #expect(output[3].contains(#""kind":"download""#))
            #expect(output[3].contains(#""lease_token":""#))
            #expect(output[4].hasPrefix(#"{"#) && output[4].contains(#""state":"suspended""#))
            #expect(
                output[5].contains(#""verb":"cancel""#) && output[5].contains("event: task.created")
            )
        }
        let file = try Data(contentsOf: URL(filePath: "\(folder.path)/photos/openapi-1.yaml"))
        let contract = try Data(contentsOf: URL(filePath: "\(Checkout.root)/openapi.yaml"))
        #expect(file == contract)
        #expect(try text("contexts.json").contains("http://127.0.0.1:"))
        #expect(errors.contains("http_status") && !errors.contains("not found"), "\(errors)")

        var types: [String] = []
        try await eventually("all generations have been told of") {
            // The last line may not be whole yet.
            types = try text("hooks").split(separator: "\n").compactMap {
                try? JSONDecoder().decode(EventMessage.self, from: Data($0.utf8)).type
            }
            return types.count { $0 == "session.events_finished" } == 4
        }
        #expect(types.first == "task.created" && types.contains("task.download_finished"))
        // Of a shell without a terminal, what it runs in the background ignores SIGINT.
        kill(-listener.pid, SIGTERM)
        _ = await listener.status()
        service.signal(SIGTERM)
        #expect(await service.status() == 0)
    }
}
