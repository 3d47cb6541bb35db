/// A run of pgbench that inserts single rows, each in a transaction of its own that is flushed.
struct Pgbench {
    private static let clients = 32
    /// The number of inserts of each client; not a time, because pgbench's timer is a signal that
    /// our children do not get.
    private static let inserts = 1500

    /// The number of all inserts.
    static let insertCount = clients * inserts

    /// Measures the rate of inserts.
    ///
    /// - Returns: inserts a second.
    static func rate(_ database: MeasuredDatabase, folder: Folder) throws -> Double {
        let script = try folder.write(MeasuredDatabase.pgbenchInsert, to: "insert.sql")
        let address = ["--host", database.host, "--username", database.user]
        _ = try Program.output(
            "psql",
            address + [
                "--no-psqlrc", "--quiet", "--command", MeasuredDatabase.pgbenchTable,
                MeasuredDatabase.peers,
            ]
        )
        let text = try Program.output(
            "pgbench",
            address + [
                "--no-vacuum", "--client", "\(clients)", "--jobs", "2",
                "--transactions", "\(inserts)", "--protocol", "prepared", "--file", script,
                MeasuredDatabase.peers,
            ]
        )
        let line = text.split(separator: "\n").first { $0.hasPrefix("tps = ") } ?? ""
        guard let rate = line.split(separator: " ").compactMap({ Double($0) }).first else {
            throw Program.Failure(description: "pgbench does not count")
        }
        return rate
    }
}
