import Foundation
import StandardWebhooks
import TransferTestSupport
import TransferWire

/// The observations of a campaign once all faults have ended.
extension ChaosRun {
    private static let rounds = 45
    private static let roundTime: Duration = .seconds(2)

    /// Waits until everything is delivered, stops the service, and returns the history.
    func history() async throws -> ChaosHistory {
        var history = ChaosHistory()
        history.faults = Set(plan.steps.compactMap(\.fault?.kind))
        history.cancellations = cancellations
        history.unwanted = unwanted
        history.findings = refusals.map { "batch \($0)" }
        for session in ChaosPlan.sessions { history.sessions.append(await log(of: session)) }
        try await deliver(history.sessions)
        history.sessions += briefSessions.map { logOfBrief($0) }
        for task in tasks { history.tasks.append(await judged(task)) }
        let files = fleet.directory
        // Those of failed tasks may stay, for their clients to resume from.
        try? await eventually("no part is left", within: .seconds(20)) {
            try !files.files().keys.contains { $0.hasSuffix(".part") }
        }
        try? await eventually("no empty pack is left", within: .seconds(180)) {
            try files.emptyPacks().isEmpty
        }
        for status in await fleet.terminate() where status != 0 {
            history.findings.append("a process ended with \(status)")
        }
        let verification = try await files.verify()
        if verification.status != 0 { history.findings.append(verification.output) }
        await fleet.close()
        history.files = try digests()
        history.requests = origin.requests
        history.served = origin.served
        history.subscribers = try Self.subscribers.map { try log($0) }
        return history
    }

    private func log(of session: String) async -> ChaosHistory.Session {
        let document = await document(of: session)
        var events: [EventMessage] = []
        var place = ""
        var isWhole = false
        while !isWhole {
            let path = "/v1/sessions/\(session)/events\(place)"
            guard let answer = await fleet.send("GET", path),
                let page = try? JSONDecoder().decode(EventPage.self, from: Data(answer.body))
            else { break }
            place = "?after=\(page.next)"
            events += page.items
            isWhole = page.items.isEmpty
        }
        return ChaosHistory.Session(
            identifier: session,
            outstanding: document?.outstanding ?? -1,
            taskCounts: (document?.taskCounts ?? [:]).filter { $0.value != 0 },
            isWhole: isWhole,
            events: events.map(ChaosHistory.Event.init)
        )
    }

    /// Returns the log of a deleted session, which only its receivers know.
    private func logOfBrief(_ session: String) -> ChaosHistory.Session {
        let messages = healthy.messages(at: Self.subscribers[0].path)
        var seen: Set<String> = []
        let events = messages.filter { $0.session == session }.flatMap(\.events)
            .filter { seen.insert($0.id).inserted }
        return ChaosHistory.Session(
            identifier: session,
            outstanding: 0,
            taskCounts: nil,
            events: events.map(ChaosHistory.Event.init)
        )
    }

    /// Waits until each subscriber has taken each event, and ends the waits of failed deliveries.
    ///
    /// Somebody who has mended a receiver does the same: the second wait is five minutes.
    private func deliver(_ sessions: [ChaosHistory.Session]) async throws {
        for _ in 0..<Self.rounds {
            for (id, _) in secrets.values {
                _ = await fleet.send("PATCH", "/v1/subscriptions/\(id)", #"{"enabled":true}"#)
            }
            do {
                return try await eventually("all is delivered", within: Self.roundTime) {
                    Self.subscribers.allSatisfy { hasAll($0, of: sessions) }
                }
            } catch is NeverHappened {}
        }
    }

    private func hasAll(_ subscriber: Subscriber, of sessions: [ChaosHistory.Session]) -> Bool {
        let taken = messages(of: subscriber).filter(\.isTaken).flatMap(\.events)
        let ids = Set(taken.map(\.id))
        let isComplete = sessions.flatMap(\.events).allSatisfy { event in
            ids.contains(event.id) || !(subscriber.wants?.contains(event.type) ?? true)
        }
        // The last event of an invalidated session; not everybody subscribes to it.
        let invalidated = taken.filter { $0.type == "session.invalidated" }
            .compactMap(\.data.sessionIdentifier)
        return isComplete
            && (subscriber.wants != nil || Set(briefSessions).isSubset(of: invalidated))
    }

    private func messages(of subscriber: Subscriber) -> [ArrivedMessage] {
        (subscriber.isUnsteady ? unsteady : healthy).messages(at: subscriber.path)
    }

    private func judged(_ task: ChaosHistory.Task) async -> ChaosHistory.Task {
        var task = task
        let answer = await fleet.send("GET", "/v1/tasks/\(task.id)")
        guard let answer, answer.status == 200,
            let document = try? JSONDecoder().decode(TaskDocument.self, from: Data(answer.body))
        else {
            // A task that no longer exists in a live session was lost.
            if !briefSessions.contains(task.session) { task.state = "absent" }
            return task
        }
        task.state = document.state
        task.failureCode = document.error?.code
        if document.state == "completed", task.asked.kind == .download {
            let content = await fleet.send("GET", "/v1/tasks/\(task.id)/content")
            if let content, content.status == 200 {
                task.contentDigest = OriginBody.sha256(of: content.body)
            }
        }
        return task
    }

    /// Returns the digests of all files, by their path in the tenant's container.
    private func digests() throws -> [String: String] {
        var digests: [String: String] = [:]
        for path in try fleet.directory.files().keys {
            let name = path.split(separator: "/").dropFirst().joined(separator: "/")
            digests[name] = OriginBody.sha256(of: try fleet.directory.content(of: path))
        }
        return digests
    }

    private func log(_ subscriber: Subscriber) throws -> ChaosHistory.Subscriber {
        let verifier = WebhookVerifier(secrets: secrets[subscriber.path].map { [$0.secret] } ?? [])
        return ChaosHistory.Subscriber(
            path: subscriber.path,
            wants: subscriber.wants,
            messages: messages(of: subscriber).map { message in
                ChaosHistory.Message(
                    id: message.id,
                    session: message.session,
                    bodyDigest: OriginBody.sha256(of: message.body),
                    events: message.events.map(\.id),
                    isTaken: message.isTaken,
                    isSigned: message.isSigned(verifier)
                )
            }
        )
    }
}

extension ChaosHistory.Event {
    init(_ event: EventMessage) {
        let data = event.data
        self.init(
            id: event.id,
            sequence: data.sequence,
            type: event.type,
            generation: data.generation,
            task: data.task?.id,
            taskState: data.task?.state,
            counts: data.completed.map { [$0, data.failed ?? 0, data.cancelled ?? 0] }
        )
    }
}
