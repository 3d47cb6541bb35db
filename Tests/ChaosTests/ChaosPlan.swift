import TransferTestSupport

/// The complete course of a campaign: a pure function of its seed and length.
struct ChaosPlan: Equatable, Sendable {
    /// An action of a client in a step, besides its submissions.
    enum Control: Hashable, Sendable {
        /// Cancels one of the submitted tasks by its place, counted from the newest.
        case cancel(Int)
        case suspend(Int)
        case resume(Int)
        case reconnect(session: Int)
    }

    /// The simultaneous actions of one step.
    struct Step: Hashable, Sendable {
        /// The number of the session that gets the tasks.
        let session: Int
        let tasks: [ChaosTask]
        let controls: [Control]
        /// Whether all files of the origin change their bytes from now on.
        let changesFiles: Bool
        /// Whether a separate session is made, gets tasks and is invalidated while they run.
        let invalidates: Bool
        let fault: ChaosFault?
    }

    static let sessions = ["one", "two", "three"]
    static let services = 3
    /// The minimum duration of a step.
    static let stepTime: Duration = .seconds(3)
    /// The steps of a freeze, which outlasts two leases of ten seconds.
    static let freezeSpan = 8
    private static let answersMax = 200

    let seed: UInt64
    let steps: [Step]
    /// The answers of the unsteady receiver at each of its paths; later messages are taken.
    let answers: [[ReceiverAnswer]]

    init(seed: UInt64, minutes: Double, subscribers: Int) {
        self.seed = seed
        var random = SeededGenerator(state: seed)
        // A third of the time is for the start, the recovery and the judgement.
        let count = max(4, Int(minutes * 60 * 2 / 3) / Int(Self.stepTime.components.seconds))
        var kinds: [ChaosFault.Kind] = []
        var steps: [Step] = []
        for number in 0..<count {
            // Each fault occurs once before any of them occurs again.
            if kinds.isEmpty { kinds = ChaosFault.Kind.allCases.shuffled(using: &random) }
            let kind = kinds.removeLast()
            steps.append(Self.step(number, kind, &random))
        }
        self.steps = steps
        answers = (0..<subscribers).map { _ in
            (0..<Self.answersMax).map { _ in Self.answer(.random(in: 0..<20, using: &random)) }
        }
    }

    /// Makes a plan of given steps; every message is taken.
    init(steps: [Step]) {
        seed = 0
        self.steps = steps
        answers = []
    }

    private static func step(
        _ number: Int,
        _ kind: ChaosFault.Kind,
        _ random: inout SeededGenerator
    ) -> Step {
        var tasks = (0..<Int.random(in: 3...6, using: &random)).map { index in
            task("/\(number)/\(index)", &random)
        }
        if Int.random(in: 0..<2, using: &random) == 0 { tasks += rivals(number, &random) }
        return Step(
            session: .random(in: sessions.indices, using: &random),
            tasks: tasks,
            controls: (0..<Int.random(in: 0...3, using: &random)).map { _ in control(&random) },
            changesFiles: Int.random(in: 0..<4, using: &random) == 0,
            invalidates: Int.random(in: 0..<5, using: &random) == 0,
            fault: ChaosFault(
                kind: kind,
                victim: .random(in: 0..<services, using: &random),
                span: kind == .freezeService ? freezeSpan : .random(in: 1...2, using: &random)
            )
        )
    }

    private static func task(_ path: String, _ random: inout SeededGenerator) -> ChaosTask {
        let kinds: [ChaosTask.Kind] = [.download, .download, .download, .put, .post]
        let kind = kinds[.random(in: kinds.indices, using: &random)]
        let origins: [ChaosTask.Origin] = [.whole, .whole, .late, .late, .busy, .missing]
        let hasDestination = Bool.random(using: &random) && kind == .download
        return ChaosTask(
            kind: kind,
            origin: origins[.random(in: origins.indices, using: &random)],
            path: path,
            destination: hasDestination ? String(path.dropFirst()) : nil,
            bytes: .random(in: 1...300_000, using: &random)
        )
    }

    /// Returns two downloads of different files with the same length to the same destination.
    private static func rivals(_ step: Int, _ random: inout SeededGenerator) -> [ChaosTask] {
        let bytes = Int.random(in: 1...100_000, using: &random)
        return ["a", "b"].map { name in
            ChaosTask(
                kind: .download,
                origin: Bool.random(using: &random) ? .whole : .late,
                path: "/\(step)/rival-\(name)",
                destination: "\(step)/result\(ChaosTask.rivalSuffix)",
                bytes: bytes
            )
        }
    }

    private static func control(_ random: inout SeededGenerator) -> Control {
        let place = Int.random(in: 0..<12, using: &random)
        return switch Int.random(in: 0..<8, using: &random) {
        case 0...2: .cancel(place)
        case 3, 4: .suspend(place)
        case 5, 6: .resume(place)
        default: .reconnect(session: place % sessions.count)
        }
    }

    private static func answer(_ number: Int) -> ReceiverAnswer {
        switch number {
        case 0: .refused
        case 1: .throttled
        case 2, 3: .lost
        case 4: .garbled
        case 5, 6: .takenLate
        default: .taken
        }
    }
}
