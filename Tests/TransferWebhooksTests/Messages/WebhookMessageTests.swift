import Foundation
import Testing
import TransferModel

@testable import TransferWebhooks

@Suite struct WebhookMessageTests {
    private let id = UUID(
        uuid: (0xAB, 0xCD, 0xEF, 1, 2, 3, 0x44, 5, 0x86, 7, 8, 9, 10, 11, 12, 13)
    )

    private func event(
        identifier: String = "nightly",
        of client: ClientID = .default,
        _ payload: SessionEvent.Payload
    ) -> SessionEvent {
        SessionEvent(
            id: id,
            session: SessionID(id),
            client: client,
            sessionIdentifier: identifier,
            sequence: 7,
            kind: kind(payload),
            generation: 2,
            occurredAt: Date(timeIntervalSince1970: 1_772_366_400),
            payload: payload
        )
    }

    private func kind(_ payload: SessionEvent.Payload) -> SessionEvent.Kind {
        if case .task = payload { .taskFailed } else { .sessionEventsFinished }
    }

    private func body(_ event: SessionEvent, linkBase: String? = nil) throws -> String {
        let message = try #require(WebhookMessage(event, linkBase: linkBase))
        #expect(message.id == "abcdef01-0203-4405-8607-08090a0b0c0d")
        return String(decoding: message.body, as: UTF8.self)
    }

    @Test func writesATaskAsItWas() throws {
        let task = SessionEvent.TaskSnapshot(
            id: TaskID(id),
            state: .failed,
            attempt: 3,
            clientString: ClientString("a\u{0}\"/"),
            bytesReceived: 12,
            failure: TransferFailure(.httpStatus, "The server answered 404.", httpStatus: 404)
        )
        #expect(
            try body(event(.task(task)))
                == #"{"data":{"client":"default","generation":2,"sequence":7,"#
                + #""session_id":"abcdef01-0203-4405-8607-08090a0b0c0d","#
                + #""session_identifier":"nightly","#
                + #""task":{"attempt":3,"client_persisted_string":"a\u0000\"/","#
                + #""count_of_bytes_received":12,"error":{"code":"http_status","domain":"http","#
                + #""http_status":404,"is_retryable":false,"message":"The server answered 404."},"#
                + #""id":"abcdef01-0203-4405-8607-08090a0b0c0d","state":"failed"}},"#
                + #""id":"abcdef01-0203-4405-8607-08090a0b0c0d","#
                + #""timestamp":"2026-03-01T12:00:00.000000Z","type":"task.failed","version":1}"#
        )
    }

    @Test func writesTheSummaryOfAGenerationWithItsLink() throws {
        let summary = SessionEvent.GenerationSummary(
            completed: 5,
            failed: 1,
            cancelled: 0,
            failedTasks: [
                SessionEvent.FailedTask(id: TaskID(id), clientString: nil, code: .timedOut)
            ]
        )
        let text = try body(
            event(identifier: "a b/é", of: ClientID(stored: "app"), .generation(summary)),
            linkBase: "https://example.com"
        )
        #expect(text.contains(#""completed":5"#))
        #expect(
            text.contains(
                #""failed_tasks":[{"code":"timed_out","id":"abcdef01-0203-4405-8607-08090a0b0c0d"}]"#
            )
        )
        #expect(
            text.contains(
                #""https://example.com/v1/sessions/a%20b%2F%C3%A9/tasks?client=app&state=failed""#
            )
        )
    }

    @Test func writesTheSameBytesEachTime() throws {
        let event = event(
            .generation(
                SessionEvent.GenerationSummary(
                    completed: 1,
                    failed: 2,
                    cancelled: 3,
                    failedTasks: []
                )
            )
        )
        let bodies = try Set((0..<20).map { _ in try body(event) })
        #expect(bodies.count == 1)
    }
}
