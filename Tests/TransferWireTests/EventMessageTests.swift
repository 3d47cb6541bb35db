import Foundation
import Testing

@testable import TransferWire

@Suite struct EventMessageTests {
    private static let message: EventMessage = {
        var data = EventMessage.Content(
            client: "app",
            sessionIdentifier: "a/b",
            sessionID: "0194",
            sequence: 7,
            generation: 2
        )
        data.task = EventMessage.Task(
            id: "t",
            state: "failed",
            attempt: 1,
            clientPersistedString: "é\0",
            countOfBytesReceived: 3,
            error: TaskDocument.Failure(
                domain: "http",
                code: "http_status",
                message: "404.",
                httpStatus: 404,
                isRetryable: false
            )
        )
        return EventMessage(
            id: "0193",
            type: "task.failed",
            timestamp: Timestamp(Date(timeIntervalSince1970: 1)),
            data: data
        )
    }()

    @Test func bytesAreAlwaysTheSame() throws {
        let text = String(decoding: try WireEncoder.encode(Self.message), as: UTF8.self)
        #expect(
            text == #"""
                {"data":{"client":"app","generation":2,"sequence":7,"session_id":"0194",\#
                "session_identifier":"a/b",\#
                "task":{"attempt":1,"client_persisted_string":"é\u0000","count_of_bytes_received":3,\#
                "error":{"code":"http_status","domain":"http","http_status":404,\#
                "is_retryable":false,"message":"404."},"id":"t","state":"failed"}},\#
                "id":"0193","timestamp":"1970-01-01T00:00:01.000000Z","type":"task.failed",\#
                "version":1}
                """#
        )
        for _ in 0..<100 {
            #expect(try WireEncoder.encode(Self.message) == Array(text.utf8))
        }
    }

    @Test func summaryLiesFlatInItsData() throws {
        var data = EventMessage.Content(
            client: nil,
            sessionIdentifier: "s",
            sessionID: nil,
            sequence: 9,
            generation: 1
        )
        data.completed = 2
        data.failed = 1
        data.cancelled = 0
        data.failedTasks = [
            EventMessage.FailedTask(id: "t", clientPersistedString: nil, code: "timed_out")
        ]
        data.failedTasksURL = "/v1/sessions/s/tasks?state=failed"
        let text = String(decoding: try WireEncoder.encode(data), as: UTF8.self)
        #expect(
            text == #"""
                {"cancelled":0,"completed":2,"failed":1,"failed_tasks":[{"code":"timed_out",\#
                "id":"t"}],"failed_tasks_url":"/v1/sessions/s/tasks?state=failed",\#
                "generation":1,"sequence":9,"session_identifier":"s"}
                """#
        )
    }
}
