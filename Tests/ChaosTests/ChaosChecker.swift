/// A judge of histories, with rules that hold whatever has happened.
struct ChaosChecker {
    /// The rules.
    enum Rule: String, CaseIterable, Sendable {
        case eachAcceptedTaskEndsOnce
        case aTaskEndsAsItsEventSays
        case aTaskFailsForAReason
        case whatIsCompletedHasTheBytesOfItsOrigin
        case oneRivalAtMostGetsTheDestination
        case eventsHaveNoGaps
        case aGenerationEndsOnceAndLast
        case theEndOfAGenerationCountsRight
        case eachSubscriberGetsEachEvent
        case messagesComeInOrder
        case aRepeatedMessageIsTheSame
        case messagesAreSigned
        case aPostIsSentOnce
        case whatIsCancelledStaysAway
        case countsAreRight
        case noFileIsNobodys
        case nothingIsFoundByVerify
    }

    struct Violation: Sendable, CustomStringConvertible {
        let rule: Rule
        let detail: String

        var description: String { "\(rule.rawValue): \(detail)" }
    }

    /// The time after the answer to a cancellation during which the task's origin may still be
    /// asked: a lease, for a worker that was frozen, and some delay of a busy machine.
    static let cancellationBound = 15.0

    static let ends: Set = ["task.completed", "task.failed", "task.cancelled"]
    static let generationEnd = "session.events_finished"

    let history: ChaosHistory
    var violations: [Violation] = []

    /// Returns all violations in a history.
    static func violations(of history: ChaosHistory) -> [Violation] {
        var checker = ChaosChecker(history: history)
        checker.checkTasks()
        checker.checkOrigin()
        checker.checkFiles()
        for session in history.sessions { checker.check(session) }
        for subscriber in history.subscribers { checker.check(subscriber) }
        return checker.violations
    }

    mutating func require(_ condition: Bool, _ rule: Rule, _ detail: @autoclosure () -> String) {
        if !condition { violations.append(Violation(rule: rule, detail: detail())) }
    }
}

/// The log of a session.
extension ChaosChecker {
    private mutating func check(_ session: ChaosHistory.Session) {
        let name = session.identifier
        let events = session.events
        let numbers = events.map(\.sequence)
        require(
            session.isWhole && numbers == events.indices.map { Int64($0) + 1 },
            .eventsHaveNoGaps,
            "\(name): \(numbers)"
        )
        for (generation, events) in Dictionary(grouping: events, by: \.generation)
        where events.contains(where: { $0.task != nil }) {
            let finished = events.filter { $0.type == Self.generationEnd }
            // The end of the session itself is reported after the end of its last generation.
            let told = events.last { $0.type != "session.invalidated" }
            require(
                finished.count == 1 && told?.type == Self.generationEnd,
                .aGenerationEndsOnceAndLast,
                "\(name): generation \(generation) ends \(finished.count) times, and last is "
                    + "\(told?.type ?? "nothing")"
            )
            let counts = ["completed", "failed", "cancelled"].map { state in
                Int64(events.count { $0.type == "task.\(state)" })
            }
            for end in finished {
                require(
                    end.counts == counts,
                    .theEndOfAGenerationCountsRight,
                    "\(name): generation \(generation) says \(end.counts ?? []), not \(counts)"
                )
            }
        }
        let states = history.tasks.filter { $0.session == name }.compactMap(\.state)
        let counts = Dictionary(grouping: states) { $0 }.mapValues { Int64($0.count) }
        guard !states.isEmpty, let told = session.taskCounts else { return }
        require(
            session.outstanding == 0 && told == counts,
            .countsAreRight,
            "\(name): \(session.outstanding) outstanding and \(told), not \(counts)"
        )
    }
}
