import Testing

/// The checker's judgement of histories with one thing wrong.
@Suite struct ChaosCheckerTests {
    /// A history with one forbidden thing, and the rule that it breaks.
    struct Mutant: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let rule: ChaosChecker.Rule
        let change: @Sendable (inout ChaosHistory) -> Void

        init(
            _ description: String,
            _ rule: ChaosChecker.Rule,
            _ change: @escaping @Sendable (inout ChaosHistory) -> Void
        ) {
            testDescription = description
            self.rule = rule
            self.change = change
        }
    }

    @Test func aGoodHistoryIsGood() {
        #expect(ChaosChecker.violations(of: .good).isEmpty)
    }

    @Test func aFailedDownloadMayKeepWhatItHas() {
        var history = ChaosHistory.good
        history.files["r\(ChaosTask.rivalSuffix).00000100000000ff.part"] = "x"
        #expect(ChaosChecker.violations(of: history).isEmpty)
    }

    @Test(arguments: mutants) func aMutantIsCaught(mutant: Mutant) {
        var history = ChaosHistory.good
        mutant.change(&history)
        let rules = ChaosChecker.violations(of: history).map(\.rule)
        #expect(rules.contains(mutant.rule), "\(rules)")
    }

    @Test func eachRuleHasAMutant() {
        #expect(Set(Self.mutants.map(\.rule)) == Set(ChaosChecker.Rule.allCases))
    }

    static let mutants = [
        Mutant("an event doubled", .eventsHaveNoGaps) {
            $0.sessions[0].events.insert($0.sessions[0].events[1], at: 1)
        },
        Mutant("an event lost", .eventsHaveNoGaps) { $0.sessions[0].events.remove(at: 0) },
        Mutant("an end doubled", .eachAcceptedTaskEndsOnce) {
            $0.sessions[0].end(ChaosHistory.download, as: "completed")
        },
        Mutant("an end of another kind besides", .eachAcceptedTaskEndsOnce) {
            $0.sessions[0].end(ChaosHistory.download, as: "failed")
        },
        Mutant("a task lost", .eachAcceptedTaskEndsOnce) {
            $0.sessions[0].events.removeAll { $0.task == ChaosHistory.post }
        },
        Mutant("an end of nobody's task", .eachAcceptedTaskEndsOnce) {
            $0.sessions[0].end("stranger", as: "completed")
        },
        Mutant("a fence ignored", .aTaskEndsAsItsEventSays) { $0.tasks[0].state = "failed" },
        Mutant("a task that still runs", .aTaskEndsAsItsEventSays) {
            $0.tasks[0].state = "running"
        },
        Mutant("a failure out of nothing", .aTaskFailsForAReason) {
            $0.fail(0, "connection_lost")
        },
        Mutant("a collision without a rival", .aTaskFailsForAReason) {
            $0.fail(0, "destination_collision")
        },
        Mutant("a file torn", .whatIsCompletedHasTheBytesOfItsOrigin) { $0.files["d"] = "torn" },
        Mutant("a file lost", .whatIsCompletedHasTheBytesOfItsOrigin) { $0.files["d"] = nil },
        Mutant("bytes of another task", .whatIsCompletedHasTheBytesOfItsOrigin) {
            $0.tasks[0].contentDigest = "rival a"
        },
        Mutant("a destination stolen", .oneRivalAtMostGetsTheDestination) {
            $0.tasks[3].state = "completed"
            $0.tasks[3].failureCode = nil
        },
        Mutant("a barrier early", .aGenerationEndsOnceAndLast) {
            $0.sessions[0].events.swapAt(7, 8)
        },
        Mutant("a barrier twice", .aGenerationEndsOnceAndLast) {
            $0.sessions[0].add(ChaosChecker.generationEnd, counts: [3, 1, 0])
        },
        Mutant("no barrier", .aGenerationEndsOnceAndLast) { $0.sessions[0].events.removeLast() },
        Mutant("a barrier that counts wrong", .theEndOfAGenerationCountsRight) {
            $0.sessions[0].events[8].counts = [4, 0, 0]
        },
        Mutant("a message lost", .eachSubscriberGetsEachEvent) {
            $0.subscribers[0].messages.removeLast()
        },
        Mutant("a message before another", .messagesComeInOrder) {
            $0.subscribers[0].messages.swapAt(2, 3)
        },
        Mutant("a message that nobody asked for", .messagesComeInOrder) {
            $0.subscribers[1].messages.insert($0.subscribers[0].messages[0], at: 0)
        },
        Mutant("other bytes the second time", .aRepeatedMessageIsTheSame) {
            var message = $0.subscribers[0].messages[0]
            message.bodyDigest = "other"
            $0.subscribers[0].messages.insert(message, at: 1)
        },
        Mutant("a wrong signature", .messagesAreSigned) {
            $0.subscribers[0].messages[0].isSigned = false
        },
        Mutant("a POST twice", .aPostIsSentOnce) { $0.request("/post", "POST", at: 3) },
        Mutant("a request long after the cancellation", .whatIsCancelledStaysAway) {
            $0.cancellations = [.init(task: ChaosHistory.download, answeredAt: 1)]
            $0.request("/download", "GET", at: 1 + ChaosChecker.cancellationBound + 1)
        },
        Mutant("a count too many", .countsAreRight) { $0.sessions[0].taskCounts?["completed"] = 4 },
        Mutant("a task outstanding for ever", .countsAreRight) { $0.sessions[0].outstanding = 1 },
        Mutant("a part left behind", .noFileIsNobodys) {
            $0.files["d.00000100000000ff.part"] = "x"
        },
        Mutant("a second part of a failed download", .noFileIsNobodys) {
            $0.files["r\(ChaosTask.rivalSuffix).00000100000000fe.part"] = "x"
            $0.files["r\(ChaosTask.rivalSuffix).00000100000000ff.part"] = "x"
        },
        Mutant("a second result", .noFileIsNobodys) {
            $0.files["stranger.0000010000000000"] = "x"
        },
        Mutant("a finding", .nothingIsFoundByVerify) { $0.findings = ["unequal_count"] },
    ]
}

extension ChaosHistory {
    static let download = "task-1"
    static let post = "task-2"

    /// A history of a download, an upload and two rivals, all of which went well.
    static let good: ChaosHistory = {
        var history = ChaosHistory()
        history.tasks = [
            task(download, .download, "/download", destination: "d"), task(post, .post, "/post"),
            task("task-3", .download, "/a", destination: "r\(ChaosTask.rivalSuffix)"),
            task("task-4", .download, "/b", destination: "r\(ChaosTask.rivalSuffix)"),
        ]
        history.tasks[0].contentDigest = "bytes"
        history.tasks[2].contentDigest = "rival a"
        history.served = ["/download": ["bytes"], "/a": ["rival a"], "/b": ["rival b"]]
        history.files = ["d": "bytes", "r\(ChaosTask.rivalSuffix)": "rival a"]
        var session = Session(identifier: "s", outstanding: 0, taskCounts: [:], events: [])
        for task in history.tasks {
            session.add("task.created", task: task.id)
        }
        for (index, task) in history.tasks.enumerated() {
            let isLast = index == history.tasks.count - 1
            history.tasks[index].state = isLast ? "failed" : "completed"
            history.tasks[index].failureCode = isLast ? "destination_collision" : nil
            session.end(task.id, as: isLast ? "failed" : "completed")
        }
        session.add(ChaosChecker.generationEnd, counts: [3, 1, 0])
        session.taskCounts = ["completed": 3, "failed": 1]
        history.sessions = [session]
        history.request("/post", "POST", at: 1)
        history.request("/download", "GET", at: 1)
        history.subscribers = [
            subscriber("/all", nil, session.events),
            subscriber("/ends", [ChaosChecker.generationEnd], session.events.suffix(1)),
        ]
        return history
    }()

    private static func task(
        _ id: String,
        _ kind: ChaosTask.Kind,
        _ path: String,
        destination: String? = nil
    ) -> Task {
        Task(
            id: id,
            session: "s",
            asked: ChaosTask(
                kind: kind,
                origin: .whole,
                path: path,
                destination: destination,
                bytes: 10
            )
        )
    }

    private static func subscriber(
        _ path: String,
        _ wants: Set<String>?,
        _ events: some Sequence<Event>
    ) -> Subscriber {
        Subscriber(
            path: path,
            wants: wants,
            messages: events.map {
                Message(
                    id: $0.id,
                    session: "s",
                    bodyDigest: $0.id,
                    events: [$0.id],
                    isTaken: true,
                    isSigned: true
                )
            }
        )
    }

    fileprivate mutating func request(_ path: String, _ method: String, at time: Double) {
        requests.append(OriginRequest(path: path, method: method, arrivedAt: time))
    }

    /// Changes the history so that a task has failed, everywhere.
    fileprivate mutating func fail(_ number: Int, _ code: String) {
        tasks[number].state = "failed"
        tasks[number].failureCode = code
        for index in sessions[0].events.indices
        where sessions[0].events[index].task == tasks[number].id
            && ChaosChecker.ends.contains(sessions[0].events[index].type)
        {
            sessions[0].events[index].type = "task.failed"
            sessions[0].events[index].taskState = "failed"
        }
    }
}

extension ChaosHistory.Session {
    fileprivate mutating func add(
        _ type: String,
        task: String? = nil,
        state: String? = nil,
        counts: [Int64]? = nil
    ) {
        events.append(
            ChaosHistory.Event(
                id: "event-\(events.count + 1)",
                sequence: Int64(events.count + 1),
                type: type,
                generation: 1,
                task: task,
                taskState: state,
                counts: counts
            )
        )
    }

    fileprivate mutating func end(_ task: String, as state: String) {
        add("task.\(state)", task: task, state: state)
    }
}
