import Foundation
package import Glibc

/// A data directory of one test, with the private cluster that the program makes in it.
package final class DataDirectory: Sendable {
    /// The path of the directory, which the program makes.
    package let path: String
    private let folder: TestFolder

    /// The options that make a command use this directory.
    package var options: [String] { ["--data-directory", path, "--resources", Checkout.root] }

    /// Makes a folder for the directory.
    package init() throws {
        folder = try TestFolder("integration")
        path = "\(folder.path)/data"
    }

    deinit {
        // A service that was killed leaves its cluster.
        if let server = databaseServer, isAlive(server) { kill(server, SIGKILL) }
    }

    /// Writes a resolv.conf(5) file that names one server.
    ///
    /// - Returns: the path of the file.
    package func resolver(_ server: NameServer) throws -> String {
        let file = "\(folder.path)/resolver"
        let text = "nameserver \(server.address)\noptions timeout:5 attempts:1\n"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    /// The process of the cluster's server, as named in the cluster's own file.
    package var databaseServer: pid_t? {
        let file = "\(path)/postgres/postmaster.pid"
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        return text?.split(separator: "\n").first.flatMap { pid_t($0) }
    }

    /// The URL of the private cluster, for connections that bypass the program.
    package var databaseURL: String { "host=\(path)/run user=transferd dbname=postgres" }

    /// The cluster's server and all its children.
    package var databaseProcesses: [pid_t] {
        guard let server = databaseServer else { return [] }
        let file = "/proc/\(server)/task/\(server)/children"
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return [server] + text.split(separator: " ").compactMap { pid_t($0) }
    }

    /// Returns whether that process is the server of this directory and not another one.
    package func isAlive(_ server: pid_t) -> Bool {
        let place = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/\(server)/cwd"
        )
        return place == "\(path)/postgres"
    }

    /// Returns once a server of this directory has ended, which is a moment after it has removed
    /// its file and `pg_ctl` calls it stopped.
    package func serverEnds(_ server: pid_t) async throws {
        try await eventually("the server has ended") { !isAlive(server) }
    }

    /// Signals the cluster's processes, to suspend them, as when the database cannot be reached, or
    /// to continue them.
    package func signalDatabase(_ signal: Int32) throws {
        guard let server = databaseServer else { return }
        let all = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap {
            pid_t($0)
        }
        for process in all where process == server || Self.parent(of: process) == server {
            kill(process, signal)
        }
    }

    /// Returns the parent as in proc_pid_stat(5): behind the name, which may hold anything.
    private static func parent(of process: pid_t) -> pid_t? {
        let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = text?.split(separator: ")").last?.split(separator: " ")
        return fields.flatMap { $0.count > 1 ? pid_t($0[1]) : nil }
    }

    /// Runs `transferd verify` on the directory once its services have stopped.
    ///
    /// - Returns: the exit status, and the first finding or else the summary.
    package func verify() async throws -> (status: Int32, output: String) {
        try await Program.run(["verify", "--json"] + options)
    }

    /// Returns the key that the first start makes.
    package func apiKey() throws -> String {
        try String(contentsOfFile: "\(path)/api-key", encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns the path of the next process's log.
    package func log() throws -> String {
        let folder = "\(folder.path)/log"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        return "\(folder)/\(UUID().uuidString.lowercased())"
    }

    /// Returns whether there is one file, complete or partial, for each of these names and no
    /// other.
    ///
    /// A name is a task's identifier, or its destination.
    package func holdsOneFile(each names: [String]) throws -> Bool {
        let found = try files().keys.compactMap { $0.split(separator: "/").last }
        return found.count == names.count
            && names.allSatisfy { name in
                found.contains { $0 == name || $0.hasPrefix("\(name).") }
            }
    }

    /// Returns the same, and whether every destination is there.
    package func holdsOnlyResults(_ names: [String]) throws -> Bool {
        try holdsOneFile(each: names) && !files().keys.contains { $0.hasSuffix(".part") }
    }
}
