import ArgumentParser
import Foundation
import TransferClient
import TransferWire

/// `transferctl task`: shows one task with its attempts.
struct ShowTask: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "task",
        abstract: "Shows a task: its state, why it waits, its attempts and where their time went.",
        discussion: """
            With --json, the first line is the task, the second its metrics, and each further one \
            an attempt.
            """
    )

    @OptionGroup var options: ServiceOptions

    @Argument(help: "The identifier of the task.")
    var id: String

    @Flag(help: "Print JSON on lines.")
    var json = false

    mutating func run() async throws {
        let service = try options.service()
        let task = try await service.task(id)
        let attempts = try await service.attempts(ofTask: id)
        let metrics = try await service.metrics(ofTask: id)
        if json {
            try Output.json(task)
            try Output.json(metrics)
            for attempt in attempts { try Output.json(attempt) }
            return
        }
        for (name, value) in Self.fields(task, metrics) {
            try Output.line(TerminalText.padded(name, to: 12) + TerminalText.safe(value))
        }
        guard !attempts.isEmpty else { return }
        try Output.line("")
        var table = Table("ATTEMPT", "STARTED", "OUTCOME", "STATUS", "BYTES", "TIMES", "ERROR")
        for line in table.lines(attempts.map(Self.row)) { try Output.line(line) }
    }

    private static func fields(
        _ task: TaskDocument,
        _ metrics: TaskMetricsDocument
    ) -> [(String, String)] {
        let values: [(String, String?)] = [
            ("task", task.id), ("session", task.sessionIdentifier),
            ("url", "\(task.method) \(task.url)"), ("string", task.clientPersistedString),
            ("state", task.state), ("waits for", task.waitsFor), ("reason", task.reason),
            ("until", task.until?.rfc3339), ("error", task.error?.message),
            ("bytes", Tasks.bytes(task)), ("created", task.createdAt.rfc3339),
            ("ended", task.finishedAt?.rfc3339),
            ("took", metrics.taskInterval.map { Quantity.time($0) }),
            ("kept until", task.expiresAt?.rfc3339),
        ]
        return values.compactMap { name, value in value.map { (name, $0) } }
    }

    private static func row(_ attempt: AttemptDocument) -> [String] {
        let bytes = max(attempt.countOfBytesReceived, attempt.countOfBytesSent)
        return [
            "\(attempt.number)", attempt.startedAt.rfc3339, attempt.outcome,
            attempt.httpStatus.map { "\($0)" } ?? "", Quantity.bytes(bytes),
            attempt.metrics.map(times) ?? "", attempt.error?.message ?? "",
        ]
    }

    /// Returns the moments of a request, in milliseconds from its start.
    static func times(_ metrics: AttemptDocument.Metrics) -> String {
        let moments: [(String, Double?)] = [
            ("dns", metrics.domainLookupEnd), ("connect", metrics.connectEnd),
            ("tls", metrics.secureConnectionEnd), ("first byte", metrics.responseStart),
            ("end", metrics.responseEnd),
        ]
        return moments.compactMap { name, seconds in
            // As with all that a service tells, a number may be one that no time has.
            seconds.map { "\(name) \(Int64(min(max(($0 * 1000).rounded(), 0), 1e15)))" }
        }.joined(separator: " ") + " ms"
    }
}
