import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWebhooks
import TransferWire

/// One service, its origin and its subscribers in a storm.
actor StormRun {
    /// A webhook of the tenant and what it asks for.
    struct Subscriber {
        let path: String
        /// Members of the JSON object that makes it.
        let settings: String
        let wants: @Sendable (_ type: String) -> Bool
    }

    private struct Accepted {
        let id: String
        let state: String
    }

    static let subscribers = [
        Subscriber(path: "/single", settings: "") { _ in true },
        Subscriber(path: "/batch", settings: #","delivery_form":"batch""#) { _ in true },
        Subscriber(
            path: "/ends",
            settings: #","event_types":["task.completed","task.failed","session.*"]"#
        ) { ["task.completed", "task.failed"].contains($0) || $0.hasPrefix("session.") },
        Subscriber(
            path: "/failures",
            settings: #","event_types":["task.failed"],"delivery_form":"batch""#
        ) { $0 == "task.failed" },
    ]

    /// How long a step waits for messages that may not come.
    private static let stepMax: Duration = .seconds(2)
    /// Times that waits of subscribers are ended at the end, so far apart.
    private static let roundsMax = 30
    private static let roundMax: Duration = .seconds(2)

    private let storm: Storm
    private let directory: DataDirectory
    private let origin: LoopbackOrigin
    private let receiver: UnsteadyReceiver
    private var service: ServiceProcess
    private var client: APIClient
    private var subscriptions: [String: (id: String, secret: SigningSecret)] = [:]
    private var accepted: [String: [Accepted]] = [:]

    init(seed: UInt64) async throws {
        storm = Storm(seed: seed, subscribers: Self.subscribers.count)
        origin = try LoopbackOrigin()
        receiver = try UnsteadyReceiver()
        directory = try DataDirectory()
        service = try await ServiceProcess(in: directory)
        client = try APIClient(service, key: directory.apiKey())
        for session in Storm.sessions {
            #expect(try await client.send("PUT", "/v1/sessions/\(session)", "{}").status == 201)
        }
        for (subscriber, answers) in zip(Self.subscribers, storm.answers) {
            let url = receiver.open(subscriber.path, answers)
            let answer = try await client.send(
                "POST",
                "/v1/subscriptions",
                #"{"url":"\#(url)"\#(subscriber.settings)}"#
            )
            let made = try JSONDecoder().decode(
                SubscriptionDocument.self,
                from: Data(answer.body)
            )
            let secret = try #require(made.secret.flatMap(SigningSecret.init(serialized:)))
            subscriptions[subscriber.path] = (made.id, secret)
        }
    }

    deinit { origin.stop() }

    /// Lets all steps happen, one after the other.
    func pass() async throws {
        for (number, step) in storm.steps.enumerated() {
            let gate = OriginGate()
            for (index, download) in step.downloads.enumerated() {
                serve(download, at: "/\(number)/\(index)", until: gate)
            }
            let seen = receiver.count
            if step.isReceiverAway { receiver.leave() }
            try await withThrowingTaskGroup { group in
                group.addTask { try await self.submit(number) }
                // Messages may fail to come, for whom they were meant may have to wait.
                try? await eventually("some messages", within: Self.stepMax) {
                    receiver.count >= seen + step.messages
                }
                try await strike(step.blow, gate)
                try await group.waitForAll()
            }
            gate.open()
            receiver.giveLateAnswers()
            try await receiver.comeBack()
            try await endWaits()
        }
        receiver.calmDown()
    }

    /// Waits until all that was submitted has ended.
    ///
    /// - Returns: the events of each session.
    func settle() async throws -> [String: [EventMessage]] {
        var events: [String: [EventMessage]] = [:]
        for session in Storm.sessions {
            try await eventually("all tasks of \(session) end", within: .seconds(60)) {
                let document: SessionDocument = try await client.get("/v1/sessions/\(session)")
                return document.outstanding == 0
            }
            events[session] = try await client.events(of: session)
        }
        return events
    }

    /// Waits until each subscriber has taken each of `events` that it asks for.
    func deliver(_ events: [String: [EventMessage]]) async throws {
        for _ in 0..<Self.roundsMax {
            try await endWaits()
            do {
                return try await eventually("everything is delivered", within: Self.roundMax) {
                    Self.subscribers.allSatisfy { missing(at: $0, of: events).isEmpty }
                }
            } catch is NeverHappened {}
        }
        for subscriber in Self.subscribers {
            let missing = missing(at: subscriber, of: events)
            #expect(missing.isEmpty, "\(subscriber.path) was not sent \(missing)")
        }
    }

    /// The states in which tasks of a session have to end.
    func states(in session: String) -> [String: String] {
        Dictionary(
            (accepted[session] ?? []).map { ($0.id, $0.state) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// What a subscriber got, and what it checks that with.
    func log(of subscriber: Subscriber) throws -> (messages: [ArrivedMessage], WebhookVerifier) {
        let secret = try #require(subscriptions[subscriber.path]?.secret)
        return (receiver.messages(at: subscriber.path), WebhookVerifier(secrets: [secret]))
    }

    func end() async { #expect(await service.terminate() == 0) }

    private nonisolated func missing(
        at subscriber: Subscriber,
        of events: [String: [EventMessage]]
    ) -> [String] {
        let taken = receiver.messages(at: subscriber.path).filter(\.isTaken)
        let ids = Set(taken.flatMap(\.events).map(\.id))
        return events.values.joined().filter { subscriber.wants($0.type) && !ids.contains($0.id) }
            .map { "\($0.data.sessionIdentifier ?? "") \($0.data.sequence) \($0.type)" }
    }

    private nonisolated func serve(
        _ download: Storm.Download,
        at path: String,
        until gate: OriginGate
    ) {
        let body = OriginBody.random(seed: 1, size: 30_000)
        switch download {
        case .whole: origin.when(path, .response(body: body))
        case .late: origin.when(path, .gated(body, after: 10_000, gate))
        case .missing: origin.when(path, .response(404))
        case .busy:
            origin.when(path) { request in
                request.numberAtPath == 1 ? .response(503) : .response(body: body)
            }
        }
    }

    /// Submits the downloads of a step, by as many requests as it takes until one is answered.
    private func submit(_ number: Int) async throws {
        let step = storm.steps[number]
        let session = Storm.sessions[step.session]
        let tasks = step.downloads.indices.map { index in
            let destination = #""destination":{"path":"\#(number)/\#(index)","overwrite":false}"#
            return #"{"url":"\#(origin.url("/\(number)/\(index)"))","retry":{"delay_base":0.1}"#
                + (index % 2 == 0 ? "}" : ",\(destination)}")
        }
        try await eventually("step \(number) is accepted") {
            let answer = try? await client.send(
                "POST",
                "/v1/sessions/\(session)/tasks",
                "[\(tasks.joined(separator: ","))]",
                idempotencyKey: "step-\(number)"
            )
            guard let answer, answer.status == 202 else { return false }
            let receipt = try JSONDecoder().decode(BatchReceipt.self, from: Data(answer.body))
            accepted[session, default: []] += zip(receipt.items, step.downloads).map {
                Accepted(id: $0.id, state: $1.state)
            }
            return true
        }
    }

    private func strike(_ blow: Storm.Blow, _ gate: OriginGate) async throws {
        switch blow {
        case .kill:
            _ = await service.killNow()
            try await start()
        case .terminate:
            #expect(await service.terminate() == 0)
            try await start()
        case .freeze:
            service.pause()
            // What it finds when it goes on: files that have come, answers, and broken connections.
            gate.open()
            receiver.giveLateAnswers()
            receiver.leave()
            try await receiver.comeBack()
            service.resume()
        }
    }

    private func start() async throws {
        service = try await ServiceProcess(in: directory)
        client = try APIClient(service, key: directory.apiKey())
    }

    /// Makes due what waits for another try, as somebody does who has mended a receiver: the second
    /// wait of the schedule is five minutes.
    private func endWaits() async throws {
        for (id, _) in subscriptions.values {
            let answer = try await client.send(
                "PATCH",
                "/v1/subscriptions/\(id)",
                #"{"enabled":true}"#
            )
            #expect(answer.status == 200)
        }
    }
}
