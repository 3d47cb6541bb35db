import Foundation

/// pgqueuer, a queue on PostgreSQL, called from Python.
struct Pgqueuer {
    /// The path of a Python that has pgqueuer; see `.ci/setup --bench`.
    let python: String

    /// The rates a second.
    struct Rates {
        let enqueued: Double
        /// The number of tasks taken and completed, each with a row of pgqueuer's log.
        let completed: Double
    }

    private struct Answer: Decodable {
        let enqueue: Double
        let complete: Double
    }

    private static let script = "Benchmarks/pgqueuer-rates.py"
    private static let jobs = 60_000
    private static let enqueueBatch = 1000
    /// Its fastest batch size: with 256 at once it took five times as long, with its default of 10
    /// thirteen times.
    private static let completeBatch = 1000

    /// Measures it in the database of peers, over `callers` connections, each with one call at a
    /// time.
    func rates(_ database: MeasuredDatabase, callers: Int) throws -> Rates {
        let text = try Program.output(
            python,
            [
                Self.script, "--host", database.host, "--user", database.user,
                "--database", MeasuredDatabase.peers, "--jobs", "\(Self.jobs)",
                "--enqueue-batch", "\(Self.enqueueBatch)", "--complete-batch",
                "\(Self.completeBatch)",
                "--callers", "\(callers)",
            ]
        )
        let answer = try JSONDecoder().decode(Answer.self, from: Data(text.utf8))
        return Rates(
            enqueued: Double(Self.jobs) / answer.enqueue,
            completed: Double(Self.jobs) / answer.complete
        )
    }

    /// Returns whether the Python queues can be measured; if not, prints a sentence that says why.
    func isInstalled() -> Bool {
        guard Program.exists(python) else {
            print(
                "pgqueuer and procrastinate are left out: there is no \(python); .ci/setup --bench makes it."
            )
            return false
        }
        return true
    }
}
