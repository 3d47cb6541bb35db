import Foundation
import Glibc
import TransferTestSupport

/// A data directory of one test, with the private cluster that the program makes in it.
final class DataDirectory: Sendable {
    /// Made by the program.
    let path: String
    private let folder: TestFolder

    /// The options that lead a command here.
    var options: [String] { ["--data-directory", path, "--resources", Program.root] }

    init() throws {
        folder = try TestFolder("integration")
        path = "\(folder.path)/data"
    }

    deinit {
        // A service that was killed leaves its cluster.
        if let server = databaseServer, isAlive(server) { kill(server, SIGKILL) }
    }

    /// Writes a resolv.conf(5) that names one server.
    ///
    /// - Returns: the path of the file.
    func resolver(_ server: NameServer) throws -> String {
        let file = "\(folder.path)/resolver"
        let text = "nameserver \(server.address)\noptions timeout:5 attempts:1\n"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    /// The process of the cluster's server, as its own file names it.
    var databaseServer: pid_t? {
        let file = "\(path)/postgres/postmaster.pid"
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        return text?.split(separator: "\n").first.flatMap { pid_t($0) }
    }

    /// How the private cluster is reached past the program.
    var databaseURL: String { "host=\(path)/run user=transferd dbname=postgres" }

    /// The cluster's server and all its children.
    var databaseProcesses: [pid_t] {
        guard let server = databaseServer else { return [] }
        let file = "/proc/\(server)/task/\(server)/children"
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return [server] + text.split(separator: " ").compactMap { pid_t($0) }
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

    /// Where the next process writes what it logs.
    func log() throws -> String {
        let folder = "\(folder.path)/log"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        return "\(folder)/\(UUID().uuidString.lowercased())"
    }

    /// The files beneath the containers, by path: their inode and when they were changed.
    func files() throws -> [String: [String]] {
        let files = FileManager.default
        let root = "\(path)/containers"
        let all = files.enumerator(atPath: root)?.allObjects ?? []
        var found: [String: [String]] = [:]
        for case let name as String in all {
            let attributes = try files.attributesOfItem(atPath: "\(root)/\(name)")
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            found[name] = [
                "\(attributes[.systemFileNumber] ?? "")", "\(attributes[.modificationDate] ?? "")",
            ]
        }
        return found
    }

    /// Whether there is one file, whole or not, of each of these names and no other.
    ///
    /// A name is a task's identifier, or its destination.
    func holdsOneFile(each names: [String]) throws -> Bool {
        let found = try files().keys.compactMap { $0.split(separator: "/").last }
        return found.count == names.count
            && names.allSatisfy { name in
                found.contains { $0 == name || $0.hasPrefix("\(name).") }
            }
    }

    /// The same, and what has a destination is there.
    func holdsOnlyResults(_ names: [String]) throws -> Bool {
        try holdsOneFile(each: names) && !files().keys.contains { $0.hasSuffix(".part") }
    }
}
