import ChildProcess
import Foundation

/// A running ``Flood``.
struct FloodProcess {
    private let process: ChildProcess
    private let end = Pipe()

    /// Starts to send `requests` in turn over each of `connections`.
    init(_ requests: [[UInt8]], to base: String, connections: Int, folder: Folder) throws {
        let files = try requests.map { request in
            try folder.write(
                String(decoding: request, as: UTF8.self),
                to: "flood-\(UUID().uuidString)"
            )
        }
        let port = try LoadConnection.port(of: base)
        try self.init(["--port", "\(port)", "--connections", "\(connections)"] + files)
    }

    /// Starts as many `loops` that only compute.
    init(loops: Int) throws { try self.init(["--loops", "\(loops)"]) }

    private init(_ arguments: [String]) throws {
        process = try ChildProcess(
            CommandLine.arguments[0],
            [Flood.name] + arguments,
            input: end.fileHandleForReading.fileDescriptor,
            output: .piped
        )
    }

    /// Ends it and returns the number of answers.
    func stop() async throws -> Int {
        try end.fileHandleForWriting.close()
        let output = try process.output.readToEnd() ?? Data()
        _ = await process.exit()
        guard let answers = Int(String(decoding: output, as: UTF8.self).trimmed) else {
            throw Program.Failure(description: "the flood gave no number")
        }
        return answers
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
