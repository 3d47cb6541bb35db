import Synchronization
import TransferClient
import TransferWire

/// The part of a service that a session speaks to, with one stream of events.
final class FakeService: Sendable {
    private struct Progress {
        var accepted = 0
        /// The number of tasks that end together once they are accepted.
        var ending: Int?
    }

    let holdsReceipts = Mutex(false)
    let calls = Mutex<[String]>([])
    private let progress = Mutex(Progress())
    private let sequence = Atomic(0)
    private let receipts = Signal()
    private let streamed = Signal()
    private let submitted = Signal()
    private let renewed = Signal()
    private let held = Signal()
    private let listed = Signal()
    private let told = Mutex<[String: Signal]>([:])
    private let (events, source) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
    private let made = Mutex<ScriptedTransport?>(nil)

    var transport: ScriptedTransport {
        made.withLock { made in
            if let made { return made }
            let transport = ScriptedTransport { request in await self.answer(request) }
            made = transport
            return transport
        }
    }

    /// What a test answers by itself; nil to leave a request to this service.
    typealias Respond = @Sendable (TransportRequest) async -> TransportResponse?

    /// Returns a service that answers as `respond` says, and like this one to all else.
    func service(answering respond: @escaping Respond) -> TransferService {
        let transport = ScriptedTransport { request throws(TransportFailure) in
            if let response = await respond(request) { return response }
            return try await self.transport.send(request)
        }
        return transport.service()
    }

    /// Sends the events with which the first tasks end, as soon as so many are accepted.
    func finish(count: Int) {
        progress.withLock { $0.ending = count }
        sendEnds()
    }

    private func sendEnds() {
        let count: Int? = progress.withLock { progress in
            guard let ending = progress.ending, progress.accepted >= ending else { return nil }
            progress.ending = nil
            return ending
        }
        guard let count else { return }
        for id in 0..<count {
            for (type, state) in [
                ("task.progress", "running"), ("task.download_finished", "completed"),
                ("task.completed", "completed"),
            ] { send(type, of: id, state, received: 3, expected: 3) }
        }
        send("session.events_finished", #","completed":1,"failed":0,"cancelled":0"#)
        streamed.fire()
    }

    /// Sends an event about the bytes of a task.
    func report(_ id: Int, received: Int64, expected: Int64) {
        send("task.progress", of: id, "running", received: received, expected: expected)
    }

    /// Sends an event about a task without bytes.
    func tell(_ type: String, of id: Int, _ state: String) {
        send(type, of: id, state, received: 0, expected: -1)
    }

    private func send(
        _ type: String,
        of id: Int,
        _ state: String,
        received: Int64,
        expected: Int64
    ) {
        send(
            type,
            #","task":{"id":"\#(id)","state":"\#(state)","attempt":1,"#
                + #""count_of_bytes_received":\#(received),"#
                + #""count_of_bytes_sent":\#(received),"#
                + #""count_of_bytes_expected_to_receive":\#(expected)}"#
        )
    }

    private func send(_ type: String, _ data: String) {
        let sequence = sequence.wrappingAdd(1, ordering: .relaxed).newValue
        let event = """
            id: s:\(sequence)
            data: {"id":"e\(sequence)","type":"\(type)","timestamp":"2026-03-01T12:00:00Z",\
            "version":1,"data":{"sequence":\(sequence),"generation":1\(data)}}


            """
        source.yield(Array(event.utf8))
    }

    func releaseReceipts() { receipts.fire() }
    func eventsAreSent() async { await streamed.wait() }
    func submissionIsAnswered() async { await submitted.wait() }
    func receiptsAreHeld() async { await held.wait() }
    func tasksAreListed() async { await listed.wait() }
    func leaseIsRenewed() async { await renewed.wait() }
    func delegateIsTold(_ call: String) async { await signal(call).wait() }

    private func signal(_ call: String) -> Signal {
        told.withLock { told in
            let signal = told[call] ?? Signal()
            told[call] = signal
            return signal
        }
    }

    private func note(_ call: String) {
        calls.withLock { $0.append(call) }
        signal(call).fire()
    }

    private func answer(_ request: TransportRequest) async -> TransportResponse {
        switch (request.method, request.target) {
        case ("PUT", "/v1/sessions/s"): TransportResponse(201, [Self.session()])
        case ("GET", "/v1/sessions/s/events"):
            TransportResponse(
                status: 200,
                headers: [("Content-Type", "text/event-stream")],
                body: events
            )
        case ("POST", "/v1/sessions/s/tasks"): await receipts(for: request)
        case ("GET", let target) where target.hasPrefix("/v1/sessions/s/tasks?"):
            {
                listed.fire()
                let tasks = [Self.task("0"), Self.task("9")].joined(separator: ",")
                return TransportResponse(200, [#"{"items":["#, tasks, #"],"has_more":false}"#])
            }()
        case ("POST", "/v1/sessions/s/reconnect"): TransportResponse(200, [Self.reconnection])
        case ("PATCH", "/v1/leases/lease"):
            {
                renewed.fire()
                return TransportResponse(200, [#"{"lease_token": "lease", "tasks": 2}"#])
            }()
        case ("DELETE", let target) where target.hasPrefix("/v1/leases/"): TransportResponse(204)
        default: .problem(.unknownRoute)
        }
    }

    /// Accepts the tasks of a batch unless the URL of one is `bad`.
    private func receipts(for request: TransportRequest) async -> TransportResponse {
        let urls = request.text.split(separator: #""url":""#).dropFirst()
            .map { $0.prefix { $0 != "\"" } }
        if let bad = urls.firstIndex(of: "bad") {
            let fault = FieldError(pointer: "/\(bad)/url", .invalidURL, "Is no URL.")
            return .problem(.validationFailed, errors: [fault])
        }
        let first = progress.withLock { progress in
            defer { progress.accepted += urls.count }
            return progress.accepted
        }
        sendEnds()
        // Tasks that are not submitted with one request come only after the answer to the first.
        let awaitsMore = progress.withLock { $0.ending != nil }
        if !awaitsMore, holdsReceipts.withLock({ $0 }) {
            held.fire()
            await receipts.wait()
        }
        let items = urls.indices.map { index in
            #"{"id":"\#(first + index)","kind":"download","session_identifier":"s","state":"queued","location":"/"}"#
        }
        submitted.fire()
        return TransportResponse(202, [#"{"items":["#, items.joined(separator: ","), "]}"])
    }

    /// The document of the session, or of another one with its name.
    static func session(id: String = "s") -> String {
        #"""
        {"client": "default", "identifier": "s", "id": "\#(id)", "kind": "background",
        "generation": 0, "configuration": {"header_names": [], "is_discretionary": false},
        "outstanding": 1, "completed": 0, "failed": 0, "cancelled": 0, "task_counts": {},
        "bytes_received": 0, "bytes_sent": 0, "last_event_sequence": 0, "is_finishing": false,
        "created_at": "2026-03-01T12:00:00Z"}
        """#
    }

    /// The document of a task; `members` are further ones, each with a comma behind it.
    static func task(
        _ id: String,
        state: String = "running",
        sent: Int64 = 0,
        of expected: Int64 = -1,
        members: String = ""
    ) -> String {
        #"""
        {"id": "\#(id)", "client": "default", "session_identifier": "s", "kind": "download",
        "method": "GET", "state": "\#(state)", "url_session_state": "running", "url": "http://o/",
        "client_persisted_string": "mine", "priority": 0.5, "attempt": 1,
        "count_of_bytes_received": 0, "count_of_bytes_expected_to_receive": -1,
        "count_of_bytes_sent": \#(sent), "count_of_bytes_expected_to_send": \#(expected),
        \#(members) "created_at": "2026-03-01T12:00:00Z"}
        """#
    }

    /// The answer to a reconnection.
    static func page(_ tasks: String..., next: String? = nil) -> TransportResponse {
        let items = tasks.map { #"{"ok": \#($0)}"# }.joined(separator: ",")
        let cursor = next.map { #", "next_cursor": "\#($0)""# } ?? ""
        let document = #"{"lease_token": "lease", "items": [\#(items)]\#(cursor)}"#
        return TransportResponse(200, [document])
    }

    private static let reconnection = #"""
        {"lease_token": "lease", "lease_expires_at": "2026-03-01T12:00:00Z", "items": [
        {"ok": \#(task("7"))},
        {"error": {"task_id": "8", "kind": "version_mismatch", "message": "Another version."}}]}
        """#
}

extension FakeService: TransferSessionDelegate {
    func urlSession(
        _ session: TransferSession,
        downloadTask: TransferTask,
        didFinishDownloading result: TransferResult
    ) async { note("downloaded") }

    func urlSession(
        _ session: TransferSession,
        downloadTask: TransferTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) async { note("progress \(totalBytesWritten) of \(totalBytesExpectedToWrite)") }

    func urlSession(
        _ session: TransferSession,
        task: TransferTask,
        didCompleteWithError error: TransferError?
    ) async { note(error.map { "failed: \($0)" } ?? "completed") }

    func urlSession(
        _ session: TransferSession,
        task: TransferTask?,
        didFailWithoutEnding error: TransferError
    ) async { if let code = error.problem?.code { note("not ended: \(code.rawValue)") } }

    func urlSession(
        _ session: TransferSession,
        didBecomeInvalidWithError error: TransferError?
    ) async { note("invalid") }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: TransferSession) async {
        note("events finished")
    }
}
