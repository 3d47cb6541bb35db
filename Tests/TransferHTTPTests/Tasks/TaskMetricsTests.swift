import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The measurements of a task.
@Suite(.postgresSchema) struct TaskMetricsTests {
    @Test func aTaskTellsWhenItRanAndWhereTheTimeWent() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session())
            func metrics() async throws -> TaskMetricsDocument {
                try await server.send("GET", "/v1/tasks/\(id)/metrics")
                    .json(TaskMetricsDocument.self)
            }
            let queued = try await metrics()
            #expect(queued.beganAt == nil)
            #expect(queued.taskInterval == nil)
            #expect(queued.transactions.isEmpty)

            let claim = try await server.claim()
            #expect(try await metrics().beganAt != nil)
            var measured = AttemptMetrics()
            measured.redirects = 2
            measured.fetchStart = .milliseconds(1500)
            measured.requestStart = .milliseconds(20)
            measured.requestEnd = .milliseconds(21)
            measured.total = .milliseconds(500)
            measured.requestHeaderBytes = 120
            measured.responseHeaderBytes = 300
            measured.responseBodyBytes = 77
            measured.remoteAddress = "192.0.2.1"
            measured.remotePort = 443
            measured.localAddress = "192.0.2.2"
            measured.localPort = 50_000
            _ = try await server.stores.completions.end([
                AttemptEnd(
                    task: claim.task,
                    fence: claim.fence,
                    outcome: .retry(
                        TransferFailure(.connectionLost, "The connection broke."),
                        after: .zero
                    ),
                    bytesReceived: 77,
                    metrics: measured
                )
            ])
            _ = try await server.stores.queue.promoteDue()
            // The worker that knew of this task is gone.
            try await server.complete([1, 2, 3])

            let ended = try await metrics()
            #expect(ended.redirectCount == 2)
            let began = try #require(ended.beganAt)
            #expect(ended.createdAt.date <= began.date)
            let finished = try #require(ended.finishedAt)
            let interval = try #require(ended.taskInterval)
            #expect(abs(finished.date.timeIntervalSince(ended.createdAt.date) - interval) < 0.01)
            #expect(ended.transactions.map(\.attempt) == [1])
            let transaction = try #require(ended.transactions.first)
            #expect(abs(transaction.fetchStartAt.date.timeIntervalSince(began.date) - 1.5) < 0.01)
            #expect(transaction.metrics.requestStart == 0.02)
            #expect(transaction.metrics.requestEnd == 0.021)
            #expect(transaction.metrics.responseEnd == 0.5)
            #expect(transaction.metrics.responseStart == nil)
            #expect(transaction.metrics.countOfRequestHeaderBytesSent == 120)
            #expect(transaction.metrics.countOfResponseHeaderBytesReceived == 300)
            #expect(transaction.metrics.countOfResponseBodyBytesReceived == 77)
            #expect(transaction.metrics.remotePort == 443)
            #expect(transaction.metrics.localPort == 50_000)
            // The list of attempts has the same values.
            let attempts = try await server.send("GET", "/v1/tasks/\(id)/attempts")
                .json(AttemptList.self).items
            #expect(attempts[0].metrics?.localAddress == "192.0.2.2")
            #expect(attempts[1].metrics == nil)
        }
    }

    @Test func anothersTaskHasNone() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session())
            let answer = try await server.send(
                "GET",
                "/v1/tasks/\(id)/metrics",
                as: server.second
            )
            #expect(answer.code == .unknownTask)
        }
    }
}
