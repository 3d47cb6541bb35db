import ChildProcess
import Foundation
import Testing
import TransferTestSupport

/// What docker/Dockerfile copies and runs, without Docker.
@Suite(.timeLimit(.minutes(5))) struct DockerfileTests {
    private static let files = FileManager.default

    /// Copies as the lines before the first call of the package manager do.
    private static func copyUntilResolved(to image: TestFolder) throws {
        let file = "\(Checkout.root)/docker/Dockerfile"
        for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("RUN "), line.contains("swift package") { return }
            let words = line.split(separator: " ")
            guard words.first == "COPY", let target = words.last else { continue }
            for source in words.dropFirst().dropLast() {
                let original = "\(Checkout.root)/\(source)"
                // A pattern stands for a file that may be missing.
                guard files.fileExists(atPath: original) else { continue }
                let name = target.hasSuffix("/") ? source.split(separator: "/").last ?? "" : ""
                let copy = URL(filePath: "\(image.path)/\(target)/\(name)").standardized
                try files.createDirectory(
                    at: copy.deletingLastPathComponent(),
                    withIntermediateDirectories: true
                )
                try files.copyItem(at: URL(filePath: original), to: copy)
            }
        }
    }

    @Test func everyPackageInTheRepositoryIsThereWhenTheDependenciesAreResolved() throws {
        let image = try TestFolder("docker")
        try Self.copyUntilResolved(to: image)
        let manifest = try String(contentsOfFile: "\(image.path)/Package.swift", encoding: .utf8)
        let paths = manifest.matches(of: #/\.package\([^)]*path: "([^"]+)"/#).map { $0.output.1 }
        #expect(!paths.isEmpty)
        for path in paths {
            #expect(Self.files.fileExists(atPath: "\(image.path)/\(path)/Package.swift"), "\(path)")
        }
    }

    @Test(arguments: ["127.0.0.2", "0.0.0.0"])
    func theHealthCheckAsksWhereTheServiceListens(host: String) async throws {
        let service = try await ServiceProcess(
            in: DataDirectory(),
            ["--host", host, "--plain-http", "anywhere"]
        )
        let variables = ["TRANSFERD_HOST": host, "TRANSFERD_PORT": "\(service.announcement.port)"]
        try await eventually("it is healthy") {
            let check = try ChildProcess(
                "/bin/bash",
                ["\(Checkout.root)/docker/healthcheck"],
                environment: Program.environment.merging(variables) { $1 },
                errors: .discarded
            )
            return await check.status() == 0
        }
        #expect(await service.terminate() == 0)
    }
}
