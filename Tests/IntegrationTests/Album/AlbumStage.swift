import ChildProcess
import Foundation
import Testing
import TransferTestSupport

/// A service, and a folder for the files of the example that uses it.
struct AlbumStage {
    /// A run of the example, and the files that it writes its lines to.
    struct Run {
        let process: ChildProcess
        fileprivate let path: String

        func lines() throws -> [String] {
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
                .map(String.init)
        }

        func errors() throws -> String {
            try String(contentsOfFile: "\(path)-errors", encoding: .utf8)
        }

        /// Returns the number behind a prefix.
        func number(_ line: Int, _ prefix: String) throws -> Int {
            let text = try lines()[line]
            try #require(text.hasPrefix(prefix), "\(text)")
            return try #require(Int(text.dropFirst(prefix.count)), "\(text)")
        }
    }

    let directory: DataDirectory
    let service: ServiceProcess
    private let folder: TestFolder
    private let program: String

    /// The path of the example that was built with these tests.
    static var program: String {
        URL(filePath: Program.path).deletingLastPathComponent().appending(path: "album").path
    }

    init(urls: [String], program: String = program) async throws {
        self.program = program
        directory = try DataDirectory()
        // The files that are held back must not keep the others from a connection.
        service = try await ServiceProcess(in: directory, ["--connections-per-host", "128"])
        folder = try TestFolder("album")
        try folder.write(urls.joined(separator: "\n"), to: "list")
        try folder.write("", to: "files/.keep")
    }

    /// Starts the program, which writes its lines to `pipe` if there is one.
    func start(lease: Int = 60, writingTo pipe: FullPipe? = nil) throws -> Run {
        let output = "\(folder.path)/\(UUID().uuidString)"
        let process = try ChildProcess(
            program,
            [
                "--list", "\(folder.path)/list", "--folder", "\(folder.path)/files",
                "--lease", "\(lease)",
            ],
            environment: Program.environment.merging([
                "TRANSFERD_URL": "http://127.0.0.1:\(service.announcement.port)",
                "TRANSFERD_API_KEY": try directory.apiKey(),
            ]) { $1 },
            output: pipe.map { .descriptor($0.end) } ?? .overwriting(output),
            errors: .overwriting("\(output)-errors")
        )
        return Run(process: process, path: output)
    }

    /// Puts a file where an earlier run of the program would have.
    func place(_ bytes: [UInt8], at name: String) throws {
        try Data(bytes).write(to: URL(filePath: "\(folder.path)/files/\(name)"))
    }

    /// The names of the files that have arrived.
    func arrived() throws -> Set<String> {
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/files")
        return Set(names.filter { !$0.hasPrefix(".") })
    }

    func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: "\(folder.path)/files/\(name)")))
    }
}
