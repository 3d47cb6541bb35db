import ChildProcess
import Foundation
import Testing
import TransferTestSupport

/// A service, and the Python client that a generator makes of `openapi.yaml`.
struct GeneratedClientStage {
    let directory: DataDirectory
    let service: ServiceProcess
    let folder: TestFolder
    /// What the generator said that it cannot do.
    let warnings: [String]

    init() async throws {
        directory = try DataDirectory()
        service = try await ServiceProcess(in: directory)
        folder = try TestFolder("generated")
        let printed = "\(folder.path)/printed"
        var environment = Program.environment
        // It formats what it makes with a program beside it.
        environment["PATH"] = "\(TestTools.folder):\(environment["PATH"] ?? "")"
        let generator = try ChildProcess(
            try TestTools.program("openapi-python-client"),
            [
                "generate", "--path", "\(Checkout.root)/openapi.yaml", "--meta", "none",
                "--output-path", "\(folder.path)/transferd",
            ],
            environment: environment,
            output: .overwriting(printed),
            errors: .appending(printed)
        )
        let status = await generator.status()
        let text = try String(contentsOfFile: printed, encoding: .utf8)
        try #require(status == 0, "\(text)")
        let signs = ["WARNING", "ERROR", "Unable", "Unsupported", "Skipping", "removal"]
        warnings = text.split(separator: "\n").map(String.init)
            .filter { line in signs.contains { line.hasPrefix($0) } }
    }

    /// Starts a program that uses the client; its errors are in the file `errors` of the folder.
    func start(_ code: String) throws -> ChildProcess {
        try folder.write(code, to: "job.py")
        let environment = Program.environment.merging([
            "TRANSFERD_URL": "http://127.0.0.1:\(service.announcement.port)",
            "TRANSFERD_API_KEY": try directory.apiKey(),
        ]) { $1 }
        return try ChildProcess(
            try TestTools.program("python"),
            ["job.py"],
            in: folder.path,
            environment: environment,
            output: .piped,
            errors: .overwriting("\(folder.path)/errors")
        )
    }

    func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
    }
}
