import TransferTestSupport

/// What happens to a service and to those it writes to, all of it from one seed.
struct Storm: Sendable {
    /// A download by what comes of it.
    enum Download: CaseIterable {
        /// There at once.
        case whole
        /// There once the step is over, hence after whatever it does to the service.
        case late
        /// There at the second try.
        case busy
        /// Never there: 404.
        case missing

        /// The state in which it ends.
        var state: String { self == .missing ? "failed" : "completed" }
    }

    /// What happens to the process of the service.
    enum Blow {
        case kill
        case terminate
        /// It is stopped, and goes on when the world around it has changed.
        case freeze
    }

    /// How a subscriber takes one message.
    enum Answer {
        case taken
        /// Taken once the step is over, if the service is still there.
        case takenLate
        /// Refused with 500.
        case refused
        /// Refused with 503, which keeps all of a subscription's messages back.
        case throttled
        /// The connection breaks when the message is there.
        case lost
        /// No HTTP.
        case garbled
    }

    /// What happens at once.
    struct Step {
        /// Which of the sessions gets the downloads.
        let session: Int
        let downloads: [Download]
        /// How many messages arrive before the blow.
        let messages: Int
        let blow: Blow
        /// Whether connections of all subscribers are refused until the step is over.
        let isReceiverAway: Bool
    }

    static let sessions = ["one", "two", "three"]

    let steps: [Step]
    /// Of each subscriber; later messages are taken.
    let answers: [[Answer]]

    init(seed: UInt64, subscribers: Int) {
        var random = SeededGenerator(state: seed)
        // Each of them, a kill twice.
        let blows = [Blow.kill, .kill, .terminate, .freeze].shuffled(using: &random)
        steps = blows.map { blow in
            Step(
                session: .random(in: Self.sessions.indices, using: &random),
                // One at least is under way whatever the blow.
                downloads: [.late]
                    + (0..<Int.random(in: 1...6, using: &random)).map { _ in
                        Download.allCases[.random(in: Download.allCases.indices, using: &random)]
                    },
                messages: .random(in: 0...12, using: &random),
                blow: blow,
                isReceiverAway: .random(in: 0..<4, using: &random) == 0
            )
        }
        answers = (0..<subscribers).map { _ in
            (0..<40).map { _ in Self.answer(.random(in: 0..<20, using: &random)) }
        }
    }

    private static func answer(_ number: Int) -> Answer {
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
