/// A unit that the server answers as a whole: all of it happens, or nothing.
struct Segment {
    /// The content that is sent.
    enum Work {
        /// Statements of the extended protocol, then one Sync.
        case queries([Query])
        /// Several statements in one string of the simple protocol.
        case script(String)
    }

    /// One command whose results are due.
    enum Step {
        case prepare(StatementCache.Key, name: String)
        /// Executes under the name that an earlier segment has prepared.
        case execute(StatementCache.Key, name: String)
        /// Executes without a name, or right after the preparation.
        case executeNew
    }

    typealias Outcome = Result<[Rows], PostgresError>

    let work: Work
    /// The longest time for an answer, counted from the sending or the end of the one ahead of it.
    let timeout: Duration
    /// Whether it takes the server long, so that the server's process gives way meanwhile.
    let isLong: Bool
    let completion: CheckedContinuation<Outcome, Never>
    /// The time when the connection is given up.
    var deadline: ContinuousClock.Instant?
    var steps: [Step] = []
    /// The step whose results are being read.
    var stepIndex = 0
    var hasResult = false
    /// The number of statements sent before the caller's, whose rows are ignored.
    var settingsCount = 0
    var rows: [Rows] = []
    var failure: PostgresError?
    /// Whether it failed only because a prepared statement had gone stale.
    var isStale = false
    /// Whether it was sent a second time for that reason.
    var isRepeated = false

    init(
        work: Work,
        timeout: Duration,
        completion: CheckedContinuation<Outcome, Never>
    ) {
        self.work = work
        self.timeout = timeout
        isLong =
            switch work {
            case .queries(let queries): queries.contains(where: \.isLong)
            case .script: false
            }
        self.completion = completion
    }

    var isScript: Bool {
        switch work {
        case .queries: false
        case .script: true
        }
    }

    var step: Step? { stepIndex < steps.count ? steps[stepIndex] : nil }

    /// The same segment, to be sent once more: the server has undone all of it.
    var repeated: Segment {
        var segment = Segment(work: work, timeout: timeout, completion: completion)
        segment.isRepeated = true
        return segment
    }

    /// The answer, valid once the server has ended the segment.
    var outcome: Outcome {
        failure.map { .failure($0) } ?? .success(Array(rows.dropFirst(settingsCount)))
    }
}
