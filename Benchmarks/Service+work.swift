import Foundation
import Glibc

extension Service {
    /// The work done since the start.
    struct Work {
        /// The processor seconds of the service.
        let service: Double
        /// The processor seconds of its PostgreSQL.
        let postgres: Double
        /// The number of committed transactions; each of the service's statements is one, as a
        /// rule.
        let transactions: Int
    }

    func work() throws -> Work {
        let lines = try String(contentsOfFile: "\(data)/postgres/postmaster.pid", encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
        // The first line of this file holds PostgreSQL's process identifier, the fifth the
        // directory of its socket.
        guard lines.count > 4, let server = Int32(lines[0]) else {
            throw Program.Failure(description: "no server of the service")
        }
        let count = try Program.output(
            "psql",
            [
                "--host", String(lines[4]), "--username", "transferd", "--dbname", "postgres",
                "--no-psqlrc", "--tuples-only", "--no-align", "--command",
                "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'",
            ]
        )
        guard let transactions = Int(count.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Program.Failure(description: "PostgreSQL does not count")
        }
        return Work(
            service: try cpuSeconds(),
            postgres: try Self.cpuSeconds(ofFamily: server),
            transactions: transactions
        )
    }

    /// Returns the processor time of a process, of its children, and of those that have ended.
    private static func cpuSeconds(ofFamily parent: Int32) throws -> Double {
        var ticks = 0.0
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let process = Int32(name),
                let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                // The name of the program is in brackets and may hold spaces.
                let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[end...].split(separator: " ")
            guard fields.count > 14, process == parent || Int32(fields[2]) == parent else {
                continue
            }
            // proc_pid_stat(5): utime and stime, and those of children that were waited for.
            let last = process == parent ? 15 : 13
            for field in fields[12...last] { ticks += Double(field) ?? 0 }
        }
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
