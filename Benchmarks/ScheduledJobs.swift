import Foundation

/// The scheduled jobs of a Python queue on PostgreSQL, run by its own worker.
struct ScheduledJobs {
    enum Queue: String, CaseIterable {
        case pgqueuer
        case procrastinate
    }

    struct Figures: Decodable {
        /// The seconds that jobs took which were all due.
        let seconds: Double
        /// How late each of the jobs was that became due one by one, in milliseconds.
        let late: [Double]
    }

    let queue: Queue
    /// The path of a Python that has the queue; see `.ci/setup --bench`.
    let python: String

    private static let script = "Benchmarks/scheduled-jobs.py"

    /// Measures it in the database of peers.
    ///
    /// - Parameters:
    ///   - database: the cluster with that database.
    ///   - jobs: the number of jobs that are all due.
    ///   - lateJobs: the number of jobs that become due one by one.
    ///   - interval: the time between two of those.
    /// - Returns: what was measured.
    /// - Throws: ``Program/Failure`` if the script ends with another status than 0.
    func measure(
        _ database: MeasuredDatabase,
        jobs: Int,
        lateJobs: Int,
        interval: Duration
    ) throws -> Figures {
        let text = try Program.output(
            python,
            [
                Self.script, "--queue", queue.rawValue, "--host", database.host,
                "--user", database.user, "--database", MeasuredDatabase.peers,
                "--jobs", "\(jobs)", "--late-jobs", "\(lateJobs)",
                "--late-interval", "\(interval / .seconds(1))",
            ]
        )
        return try JSONDecoder().decode(Figures.self, from: Data(text.utf8))
    }
}
