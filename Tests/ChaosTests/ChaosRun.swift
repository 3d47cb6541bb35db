import Foundation
import StandardWebhooks
import TransferModel
import TransferTestSupport
import TransferWire

/// One campaign: its plan, performed on real processes.
actor ChaosRun {
    /// A webhook of the tenant and the events that it subscribes to.
    struct Subscriber: Sendable {
        let path: String
        /// The members of the JSON object that makes it.
        let settings: String
        let wants: Set<String>?
        /// Whether its receiver answers as the plan says.
        let isUnsteady: Bool
    }

    struct NotMade: Error, CustomStringConvertible {
        let description: String
    }

    private struct Submission {
        let session: String
        let tasks: [ChaosTask]
        let key: String
    }

    static let subscribers = [
        Subscriber(path: "/single", settings: "", wants: nil, isUnsteady: false),
        Subscriber(
            path: "/batch",
            settings: #","delivery_form":"batch""#,
            wants: nil,
            isUnsteady: false
        ),
        Subscriber(path: "/unsteady", settings: "", wants: nil, isUnsteady: true),
        Subscriber(
            path: "/ends",
            settings: #","event_types":["task.completed","task.failed","session.events_finished"]"#,
            wants: ["task.completed", "task.failed", "session.events_finished"],
            isUnsteady: true
        ),
    ]
    static var unsteadyCount: Int { subscribers.count(where: \.isUnsteady) }

    let plan: ChaosPlan
    let origin: ChaosOrigin
    let fleet: ChaosFleet
    let healthy: UnsteadyReceiver
    let unsteady: UnsteadyReceiver
    var secrets: [String: (id: String, secret: SigningSecret)] = [:]
    var tasks: [ChaosHistory.Task] = []
    var cancellations: [ChaosHistory.Cancellation] = []
    var unwanted: Set<String> = []
    /// The sessions that were invalidated, or are to be.
    var briefSessions: [String] = []
    /// The batches that were not answered with 202.
    var refusals: [String] = []
    private let link: ChaosLink
    private var pending: [Submission] = []
    private var suspended: Set<String> = []
    private var notInvalidated: Set<String> = []

    init(_ plan: ChaosPlan) async throws {
        self.plan = plan
        origin = try ChaosOrigin()
        link = try ChaosLink(to: origin.port)
        healthy = try UnsteadyReceiver()
        unsteady = try UnsteadyReceiver()
        fleet = try await ChaosFleet(origin: link, receiver: unsteady)
        for session in ChaosPlan.sessions { try await make("PUT", "/v1/sessions/\(session)", "{}") }
        var answers = plan.answers[...]
        for subscriber in Self.subscribers {
            let url =
                subscriber.isUnsteady
                ? unsteady.open(subscriber.path, answers.popFirst() ?? [])
                : healthy.open(subscriber.path, [])
            let body = try await make(
                "POST",
                "/v1/subscriptions",
                #"{"url":"\#(url)"\#(subscriber.settings)}"#,
                idempotencyKey: "subscriber-\(subscriber.path.dropFirst())"
            )
            let made = try JSONDecoder().decode(SubscriptionDocument.self, from: Data(body))
            guard let secret = made.secret.flatMap(SigningSecret.init(serialized:)) else {
                throw NotMade(description: "a subscription without a secret")
            }
            secrets[subscriber.path] = (made.id, secret)
        }
    }

    /// Performs all steps.
    func pass() async throws {
        await fleet.hurry(true)
        var going: [(fault: ChaosFault, until: Int)] = []
        for (number, step) in plan.steps.enumerated() {
            let end = ContinuousClock.now + ChaosPlan.stepTime
            if step.changesFiles { origin.changeFiles() }
            if let fault = step.fault { going.append((fault, number + fault.span)) }
            async let begun: Void = begin(step.fault)
            await act(step, number)
            try await begun
            try await eventually("step \(number) is over") { ContinuousClock.now >= end }
            origin.endStep()
            healthy.giveLateAnswers()
            unsteady.giveLateAnswers()
            for ended in going where ended.until == number + 1 { try await fleet.end(ended.fault) }
            going.removeAll { $0.until <= number + 1 }
            await catchUp()
        }
        await fleet.hurry(false)
    }

    private func begin(_ fault: ChaosFault?) async throws {
        if let fault { try await fleet.begin(fault) }
    }

    /// Repeats to the origin a request that it has already received, as if a task did.
    func postOnceMore(_ path: String) async throws {
        _ = try await HTTPClient(port: Int(link.port)).send("POST", path)
    }

    /// Ends all faults and waits until all requested work is done.
    func settle() async throws {
        try await fleet.heal()
        unsteady.calmDown()
        try await eventually("everything is accepted", within: .seconds(60)) {
            await catchUp()
            return pending.isEmpty && notInvalidated.isEmpty
        }
        for id in suspended { _ = await fleet.send("POST", "/v1/tasks/\(id)/resume", "{}") }
        for session in ChaosPlan.sessions {
            try? await eventually("all tasks of \(session) end", within: .seconds(90)) {
                origin.endStep()
                return await document(of: session)?.outstanding == 0
            }
        }
    }

    func document(of session: String) async -> SessionDocument? {
        guard let answer = await fleet.send("GET", "/v1/sessions/\(session)") else { return nil }
        return try? JSONDecoder().decode(SessionDocument.self, from: Data(answer.body))
    }

    /// Submits tasks, now or, when no process answers, later.
    func submit(_ tasks: [ChaosTask], to session: String, key: String) async {
        for task in tasks { origin.serve(task) }
        pending.append(Submission(session: session, tasks: tasks, key: key))
        await catchUp()
    }

    @discardableResult
    private func make(
        _ method: String,
        _ path: String,
        _ body: String,
        idempotencyKey: String? = nil
    ) async throws -> [UInt8] {
        let answer = await fleet.send(method, path, body, idempotencyKey: idempotencyKey)
        // A PUT that has been made before, with an answer that was lost, finds what it is to make.
        guard let answer, answer.status == 201 || method == "PUT" && answer.status == 200 else {
            throw NotMade(description: "\(method) \(path): \(answer?.status ?? 0)")
        }
        return answer.body
    }

    private func act(_ step: ChaosPlan.Step, _ number: Int) async {
        await submit(step.tasks, to: ChaosPlan.sessions[step.session], key: "step-\(number)")
        if step.invalidates { await invalidate("brief-\(number)", number) }
        for control in step.controls { await perform(control) }
    }

    private func perform(_ control: ChaosPlan.Control) async {
        switch control {
        case .cancel(let place):
            guard let id = task(at: place) else { return }
            unwanted.insert(id)
            let answer = await fleet.send("POST", "/v1/tasks/\(id)/cancel", "{}")
            guard let answer, (200..<300).contains(answer.status) else { return }
            cancellations.append(
                ChaosHistory.Cancellation(task: id, answeredAt: origin.elapsed)
            )
        case .suspend(let place):
            guard let id = task(at: place) else { return }
            suspended.insert(id)
            _ = await fleet.send("POST", "/v1/tasks/\(id)/suspend", "{}")
        case .resume(let place):
            guard let id = task(at: place) else { return }
            _ = await fleet.send("POST", "/v1/tasks/\(id)/resume", "{}")
        case .reconnect(let session):
            let path = "/v1/sessions/\(ChaosPlan.sessions[session])/reconnect"
            _ = await fleet.send("POST", path, "{}")
        }
    }

    /// Returns the identifier of a task of a live session, counted from the newest.
    private func task(at place: Int) -> String? {
        let living = tasks.filter { !briefSessions.contains($0.session) }
        return living.dropLast(place).last?.id
    }

    private func invalidate(_ session: String, _ number: Int) async {
        let made = await fleet.send("PUT", "/v1/sessions/\(session)", "{}")
        guard let made, (200...201).contains(made.status) else { return }
        briefSessions.append(session)
        notInvalidated.insert(session)
        let tasks = (0..<3).map { index in
            ChaosTask(
                kind: .download,
                origin: index == 0 ? .whole : .late,
                path: "/\(number)/brief-\(index)",
                destination: nil,
                bytes: 50_000
            )
        }
        await submit(tasks, to: session, key: "brief-\(number)")
    }

    /// Repeats the requests that were not answered.
    private func catchUp() async {
        for submission in pending {
            let bodies = submission.tasks.map {
                $0.json(at: "http://127.0.0.1:\(link.port)")
            }
            let answer = await fleet.send(
                "POST",
                "/v1/sessions/\(submission.session)/tasks",
                "[\(bodies.joined(separator: ","))]",
                idempotencyKey: submission.key
            )
            guard let answer, answer.status != 409 else { continue }
            pending.removeAll { $0.key == submission.key }
            note(answer, submission)
        }
        for session in notInvalidated where !pending.contains(where: { $0.session == session }) {
            let path = "/v1/sessions/\(session)/invalidate"
            guard let answer = await fleet.send("POST", path) else { continue }
            if answer.status < 500 { notInvalidated.remove(session) }
        }
    }

    private func note(_ answer: (status: Int, body: [UInt8]), _ submission: Submission) {
        if answer.status != 202 { refusals.append("\(submission.key): \(answer.status)") }
        let receipt = try? JSONDecoder().decode(BatchReceipt.self, from: Data(answer.body))
        for (item, task) in zip(receipt?.items ?? [], submission.tasks) {
            // Tasks that have not ended when their session is invalidated are cancelled.
            if briefSessions.contains(submission.session) { unwanted.insert(item.id) }
            tasks.append(
                ChaosHistory.Task(id: item.id, session: submission.session, asked: task)
            )
        }
    }
}
