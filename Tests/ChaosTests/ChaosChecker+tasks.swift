/// The tasks, their origin and their files.
extension ChaosChecker {
    /// Reasons given by its origin or its rival for which a task may fail.
    private static let collision = "destination_collision"
    private static let unknownOutcome = "unknown_outcome"

    mutating func checkTasks() {
        let events = Dictionary(
            grouping: history.sessions.flatMap(\.events).filter { Self.ends.contains($0.type) },
            by: { $0.task ?? "" }
        )
        for task in history.tasks {
            let ends = events[task.id] ?? []
            require(
                ends.count == 1,
                .eachAcceptedTaskEndsOnce,
                "\(Self.name(task)): \(ends.map(\.type))"
            )
            guard let state = task.state else { continue }
            require(
                ["completed", "failed", "cancelled"].contains(state)
                    && ends.allSatisfy { $0.type == "task.\(state)" && $0.taskState == state },
                .aTaskEndsAsItsEventSays,
                "\(Self.name(task)): \(state), not \(ends.map { "\($0.type) \($0.taskState ?? "")" })"
            )
            checkReason(task)
        }
        let known = Set(history.tasks.map(\.id))
        for id in events.keys where !known.contains(id) {
            require(false, .eachAcceptedTaskEndsOnce, "nobody knows of task \(id)")
        }
    }

    private mutating func checkReason(_ task: ChaosHistory.Task) {
        guard let state = task.state, state != "cancelled" || !history.unwanted.contains(task.id)
        else { return }
        let isSpoilt = history.faults.contains(where: \.spoilsTasks)
        switch task.failureCode {
        case nil:
            require(
                state == "completed" && task.asked.end != "failed",
                .aTaskFailsForAReason,
                "\(Self.name(task)) is \(state)"
            )
        case "http_status":
            require(
                // A refused request may be sent again, but need not be where it could then be
                // performed twice.
                task.asked.origin == .missing
                    || task.asked.origin == .busy && task.asked.kind == .post,
                .aTaskFailsForAReason,
                "\(Self.name(task)) failed by an answer that nobody gave"
            )
        case Self.collision:
            require(
                task.asked.isRival,
                .aTaskFailsForAReason,
                "\(Self.name(task)) has the destination for itself"
            )
        case Self.unknownOutcome:
            require(
                task.asked.kind == .post,
                .aTaskFailsForAReason,
                "\(Self.name(task)) can be repeated"
            )
        case let code?:
            require(isSpoilt, .aTaskFailsForAReason, "\(Self.name(task)) failed by \(code)")
        }
    }

    mutating func checkOrigin() {
        let tasks = Dictionary(
            history.tasks.map { ($0.asked.path, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        let posts = Dictionary(
            grouping: history.requests.filter { $0.method == "POST" },
            by: \.path
        )
        for (path, requests) in posts where requests.count > 1 {
            // A request refused with 503 was not taken, and may come again.
            guard let task = tasks[path], task.asked.origin != .busy else { continue }
            require(
                task.failureCode == Self.unknownOutcome,
                .aPostIsSentOnce,
                "\(Self.name(task)) reached its origin \(requests.count) times and is "
                    + "\(task.state ?? "gone") \(task.failureCode ?? "")"
            )
        }
        let cancelled = Dictionary(
            history.cancellations.map { ($0.task, $0.answeredAt) },
            uniquingKeysWith: min
        )
        for request in history.requests {
            guard let task = tasks[request.path], let answered = cancelled[task.id] else {
                continue
            }
            let delay = request.arrivedAt - answered
            require(
                delay <= Self.cancellationBound,
                .whatIsCancelledStaysAway,
                "\(Self.name(task)) was fetched \(delay) s after it was cancelled"
            )
        }
    }

    mutating func checkFiles() {
        var wanted: Set<String> = []
        for task in history.tasks
        where task.state == "completed" && task.asked.kind == .download {
            let served = history.served[task.asked.path] ?? []
            let files = history.files.filter { isFile($0.key, of: task) }
            let file = files.first { served.contains($0.value) } ?? files.first
            if let file { wanted.insert(file.key) }
            // The next line distinguishes bytes of another task from torn bytes.
            let owner = history.served.first { $0.value.contains(task.contentDigest ?? "") }?.key
            require(
                task.contentDigest.map(served.contains) ?? false
                    && file.map { served.contains($0.value) } ?? false,
                .whatIsCompletedHasTheBytesOfItsOrigin,
                "\(Self.name(task)) at \(file?.key ?? "no file") has the bytes of \(owner ?? "nobody")"
            )
        }
        // The remains of an invalidated session are removed with the session.
        let gone = history.tasks.filter { $0.state == nil }
        // A failed download keeps its part for a retry by its client.
        var keeping = history.tasks.filter { $0.state == "failed" && $0.asked.kind == .download }
        for path in history.files.keys where !wanted.contains(path) {
            if let keeper = keeping.firstIndex(where: { isPart(path, of: $0) }) {
                keeping.remove(at: keeper)
                continue
            }
            let isGone = gone.contains { isFile(path, of: $0) }
            require(isGone, .noFileIsNobodys, path)
        }
        let rivals = Dictionary(
            grouping: history.tasks.filter { $0.asked.isRival && $0.state == "completed" },
            by: { $0.asked.destination ?? "" }
        )
        for (destination, winners) in rivals {
            require(
                winners.count == 1,
                .oneRivalAtMostGetsTheDestination,
                "\(destination): \(winners.map(Self.name))"
            )
        }
        for finding in history.findings {
            require(false, .nothingIsFoundByVerify, finding)
        }
    }

    /// Returns whether a path is that of a task's result, and not of a part of it.
    private func isFile(_ path: String, of task: ChaosHistory.Task) -> Bool {
        guard !path.hasSuffix(".part") else { return false }
        if let destination = task.asked.destination { return path == destination }
        return path.split(separator: "/").last?.hasPrefix(task.id) ?? false
    }

    /// Returns whether a path is that of a part of a task's result.
    private func isPart(_ path: String, of task: ChaosHistory.Task) -> Bool {
        if let destination = task.asked.destination {
            return path.hasPrefix("\(destination).") && path.hasSuffix(".part")
        }
        // Without a destination, it has the name of the result.
        return path.split(separator: "/").last?.hasPrefix(task.id) ?? false
    }

    private static func name(_ task: ChaosHistory.Task) -> String {
        "\(task.asked.kind.rawValue) \(task.asked.path) (\(task.asked.origin.rawValue), \(task.id))"
    }
}
