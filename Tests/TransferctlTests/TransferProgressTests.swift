import Testing
import TransferClient
import TransferWire

@testable import transferctl

@Suite struct TransferProgressTests {
    private func event(_ type: String, _ data: String, generation: Int = 1) throws -> TransferEvent
    {
        let json = """
            {"id":"e","type":"\(type)","timestamp":"2026-03-01T12:00:00Z","version":1,
            "data":{"sequence":1,"generation":\(generation)\(data)}}
            """
        return TransferEvent(
            try WireDecoder.decode(EventMessage.self, fromAnswer: Array(json.utf8))
        )
    }

    private func task(_ id: String, _ state: String, bytes: Int = 0, of total: Int = -1) -> String {
        #","task":{"id":"\#(id)","state":"\#(state)","attempt":1,"kind":"download","#
            + #""url":"http://a/\#(id)","count_of_bytes_received":\#(bytes),"#
            + #""count_of_bytes_expected_to_receive":\#(total)}"#
    }

    @Test func countsWhatASessionTells() throws {
        var progress = TransferProgress(at: 0)
        for id in ["1", "2", "3"] {
            progress.apply(try event("task.created", task(id, "queued")), at: 0)
        }
        progress.apply(try event("task.progress", task("1", "running", bytes: 10, of: 100)), at: 1)
        progress.apply(try event("task.failed", task("2", "failed")), at: 2)
        #expect(progress.outstanding == 2 && progress.failed == 1)
        #expect(progress.transfers.map(\.id) == ["1"])
        progress.apply(try event("task.completed", task("1", "completed")), at: 2)
        #expect(progress.transfers.isEmpty && progress.completed == 1 && !progress.isOver)
        // One task is left, and two have taken two seconds.
        #expect(progress.timeRemaining(at: 2) == 1)
        progress.apply(
            try event("session.events_finished", #","completed":2,"failed":1,"cancelled":0"#),
            at: 3
        )
        #expect(progress.isOver && progress.completed == 2 && progress.outstanding == 0)
        progress.apply(try event("task.created", task("4", "queued"), generation: 2), at: 4)
        #expect(!progress.isOver && progress.completed == 0 && progress.outstanding == 1)
    }

    @Test func findsTheRateFromTwoReportsAndForgetsItWithTheState() {
        var progress = TransferProgress(at: 0)
        func report(_ bytes: Int64, _ state: String, at time: Double) {
            progress.report("1", name: "a", state: state, bytes: bytes, of: 1000, at: time)
        }
        report(0, "running", at: 0)
        #expect(progress.rate == 0)
        report(200, "running", at: 2)
        #expect(progress.rate == 100 && progress.transfers[0].transfer.timeRemaining == 8)
        report(200, "running", at: 7)
        #expect(progress.rate == 50)
        report(200, "waiting_for_retry", at: 8)
        #expect(progress.rate == 0 && progress.transfers[0].transfer.timeRemaining == nil)
    }

    @Test func keepsOnlyTransfersThatRun() throws {
        var progress = TransferProgress(at: 0)
        for id in 0..<20_000 {
            progress.apply(try event("task.created", task("\(id)", "queued")), at: 0)
            progress.apply(try event("task.progress", task("\(id)", "running", bytes: 1)), at: 0)
            progress.apply(try event("task.completed", task("\(id)", "completed")), at: 0)
        }
        #expect(progress.transfers.isEmpty && progress.completed == 20_000)
    }

    /// The sums and times of numbers that are none end no command.
    @Test func takesAnyNumberThatAServiceTells() throws {
        let largest = Int64.max
        let session = #"""
            {"client": "default", "identifier": "s", "id": "0", "kind": "background",
            "generation": 1, "configuration": {"header_names": [], "is_discretionary": false},
            "outstanding": \#(largest), "completed": \#(largest), "failed": 1, "cancelled": -5,
            "task_counts": {}, "bytes_received": 0, "bytes_sent": 0, "last_event_sequence": 0,
            "is_finishing": false, "created_at": "2026-03-01T12:00:00Z"}
            """#
        let document = try WireDecoder.decode(
            SessionDocument.self,
            fromAnswer: Array(session.utf8)
        )
        var progress = TransferProgress(document, at: 0)
        progress.apply(try event("task.created", task("1", "queued")), at: 1)
        #expect(ProgressLines(columns: 100, rows: 9).whole(progress, at: 1).contains("1 failed"))
        #expect(progress.cancelled == 0)
        let counts = #","completed":\#(largest),"failed":\#(largest),"cancelled":\#(largest)"#
        progress.apply(try event("session.events_finished", counts), at: 2)
        #expect(progress.ended > 0)
        var metrics = AttemptDocument.Metrics(
            redirectCount: 0,
            countOfConnections: 1,
            isReusedConnection: false
        )
        metrics.responseEnd = 1e300
        #expect(ShowTask.times(metrics) == "end 1000000000000000 ms")
    }
}
