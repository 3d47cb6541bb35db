import Foundation
import Glibc

/// A data directory of one test, with the private cluster that the program makes in it.
final class DataDirectory: Sendable {
    /// Below /tmp, where the account of the cluster can get.
    let path = "/tmp/transferd-integration-\(UUID().uuidString.lowercased())"

    /// The options that lead a command here.
    var options: [String] { ["--data-directory", path, "--resources", Program.root] }

    deinit {
        // A service that was killed leaves its cluster.
        if let server = databaseServer, isAlive(server) { kill(server, SIGKILL) }
        for path in [path, "\(path)-log"] {
            // A directory that stays is no harm to the result of a test.
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    /// The process of the cluster's server, as its own file names it.
    var databaseServer: pid_t? {
        let file = "\(path)/postgres/postmaster.pid"
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        return text?.split(separator: "\n").first.flatMap { pid_t($0) }
    }

    /// Whether that number is the server of this directory and not somebody else's.
    func isAlive(_ server: pid_t) -> Bool {
        let place = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/\(server)/cwd"
        )
        return place == "\(path)/postgres"
    }

    /// The key that the first start makes.
    func apiKey() throws -> String {
        try String(contentsOfFile: "\(path)/api-key", encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Part files beneath the containers.
    func parts() -> [String] {
        let all = FileManager.default.enumerator(atPath: "\(path)/containers")?.allObjects ?? []
        return all.compactMap { $0 as? String }.filter { $0.hasSuffix(".part") }
    }
}
