import Foundation
import Testing
import TransferWire

@testable import transferctl

@Suite struct BulkOperationLineTests {
    @Test(arguments: [
        ("completed", nil, "retry: 997 of 2500 tasks changed"),
        ("running", nil, "retry: 997 of 2500 tasks changed so far"),
        ("running", "queue_full", "retry: 997 of 2500 tasks changed so far (queue_full)"),
        (
            "stopped", "session_ended",
            "retry: 997 of 2500 tasks changed, then stopped (session_ended)"
        ),
    ])
    func namesTheVerbAndWhatItHasDone(state: String, reason: String?, line: String) {
        let operation = BulkOperationDocument(
            id: "o",
            client: "default",
            session: "s",
            verb: "retry",
            states: ["failed"],
            state: state,
            reason: reason,
            tasksMatching: 2500,
            tasksChanged: 997,
            createdAt: Timestamp(Date(timeIntervalSince1970: 0)),
            finishedAt: nil
        )
        #expect(operation.line == line)
    }
}
