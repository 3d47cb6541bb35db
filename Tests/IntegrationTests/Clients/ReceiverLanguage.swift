import ChildProcess
import Foundation
import Testing
import TransferTestSupport

/// A language that `docs/clients.md` has a receiver in.
enum ReceiverLanguage: String, CaseIterable, Sendable {
    case python, js, go, java

    /// The name of the file that the receiver is in.
    private var file: String {
        switch self {
        case .python: "receiver.py"
        case .js: "receiver.mjs"
        case .go: "receiver.go"
        case .java: "Receiver.java"
        }
    }

    /// Starts the receiver on a port; it appends to the file `output` of the folder.
    func start(
        on port: Int,
        secret: String,
        in folder: TestFolder,
        output: String
    ) async throws -> ChildProcess {
        let code = try GuideBlocks.all(rawValue, replacing: ["9000": String(port)])
        try folder.write(try #require(code.last), to: file)
        var environment = Program.environment
        environment["WEBHOOK_SECRET"] = secret
        environment["GOCACHE"] = "\(folder.path)/cache"
        let command: [String]
        switch self {
        case .python: command = [try TestTools.program("python"), file]
        case .js: command = ["node", file]
        case .java: command = ["java", file]
        case .go:
            let build = try ChildProcess(
                "go",
                ["build", "-o", "receiver", file],
                in: folder.path,
                environment: environment,
                errors: .overwriting("\(folder.path)/build")
            )
            let status = await build.status()
            let errors = try String(contentsOfFile: "\(folder.path)/build", encoding: .utf8)
            try #require(status == 0, "\(errors)")
            command = ["\(folder.path)/receiver"]
        }
        return try ChildProcess(
            command[0],
            Array(command.dropFirst()),
            in: folder.path,
            environment: environment,
            output: .overwriting("\(folder.path)/\(output)"),
            errors: .overwriting("\(folder.path)/\(output)-errors")
        )
    }
}
