import Foundation

/// The location of the programs of one PostgreSQL installation.
struct ServerPrograms: Equatable, Sendable {
    /// The directory that contains initdb, pg_ctl and postgres.
    let directory: String
    /// The major version, if the directory tells it.
    let version: String?

    var initdb: String { "\(directory)/initdb" }
    var pgctl: String { "\(directory)/pg_ctl" }
    var postgres: String { "\(directory)/postgres" }

    private static let names = ["initdb", "pg_ctl", "postgres"]

    /// Finds the installation that fits a cluster.
    ///
    /// - Parameters:
    ///   - clusterVersion: what made the cluster; nil for a new one, which gets the highest.
    ///   - path: the value of `PATH`.
    ///   - root: the directory with one subdirectory for each version, as Debian has it.
    /// - Returns: the first that fits, those in `PATH` before those of Debian.
    /// - Throws: what to install.
    static func find(
        for clusterVersion: String?,
        path: String,
        root: String = "/usr/lib/postgresql"
    ) throws(EmbeddedPostgresError) -> ServerPrograms {
        let installed = inPath(path) + below(root)
        guard let best = installed.first else { throw .programMissing(missing(path, root)) }
        guard let clusterVersion else { return best }
        if let match = installed.first(where: { $0.version == clusterVersion }) { return match }
        // A directory without a version in its path can only be tried: the server checks itself.
        if let unknown = installed.first(where: { $0.version == nil }) { return unknown }
        throw .versionMismatch(cluster: clusterVersion, installed: installed.compactMap(\.version))
    }

    private static func inPath(_ path: String) -> [ServerPrograms] {
        path.split(separator: ":").map(String.init)
            .filter { isComplete($0) }
            .map { ServerPrograms(directory: $0, version: version(ofPath: $0)) }
    }

    private static func below(_ root: String) -> [ServerPrograms] {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.filter { Int($0) != nil && isComplete("\(root)/\($0)/bin") }
            .sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
            .map { ServerPrograms(directory: "\(root)/\($0)/bin", version: $0) }
    }

    /// Returns the version in a path, such as the `15` of `/usr/lib/postgresql/15/bin`.
    private static func version(ofPath path: String) -> String? {
        let parts = path.split(separator: "/")
        guard parts.count >= 2, Int(parts[parts.count - 2]) != nil else { return nil }
        return String(parts[parts.count - 2])
    }

    private static func isComplete(_ directory: String) -> Bool {
        names.allSatisfy { access("\(directory)/\($0)", X_OK) == 0 }
    }

    /// Returns the first program found nowhere, or the first of all if they are scattered.
    private static func missing(_ path: String, _ root: String) -> String {
        let directories = path.split(separator: ":").map(String.init)
        return names.first { name in
            directories.allSatisfy { access("\($0)/\(name)", X_OK) != 0 }
        } ?? names[0]
    }
}
