import Foundation
import StandardWebhooks
import TransferClient
import TransferWire

/// Compares the results of a batch with what was promised.
struct Inspection: Sendable {
    let service: TransferService
    let batch: Batch
    /// The tasks, in the order of the batch.
    let tasks: [TransferTask]
    let receiver: Receiver
    /// The secret; nil when the service gave none, or not in the form of Standard Webhooks.
    let secret: SigningSecret?
    let submittedAt: Date
    let screen: Screen

    func verdict(of session: String) async throws -> Verdict {
        let found = try await service.tasks(ofSession: session).items
        let byID = Dictionary(found.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        // Item and task belong together by the identifiers of the receipts, whatever the tasks say.
        let pairs = zip(batch.items, tasks).map { ($0, $1.taskIdentifier.flatMap { byID[$0] }) }
        var verdict = Verdict()
        verdict.note("every download ended as it had to", faults: outcomeFaults(pairs))
        let (byteCount, faults) = try await contentFaults(pairs)
        verdict.note(
            "every content is \(batch.comparison) (\(Text.mebibytes(byteCount)) MiB)",
            faults: faults
        )
        // Read last, so that a webhook that came after the final one counts.
        let timeline = try Timeline(receiver.deliveries, since: submittedAt)
        verdict.note(
            "every client string came back byte for byte, in tasks and webhooks",
            faults: clientStringFaults(pairs, timeline)
        )
        verdict.note(
            "all \(timeline.entries.count) webhooks are signed with the subscription's secret",
            faults: signatureFaults(timeline)
        )
        verdict.note(
            "webhooks came in order, without a gap or a duplicate",
            faults: orderFaults(timeline)
        )
        verdict.note(
            "session.events_finished came once, and last",
            faults: finishFaults(timeline, pairs)
        )
        return verdict
    }

    typealias Pair = (item: Batch.Item, task: TaskDocument?)

    private func outcomeFaults(_ pairs: [Pair]) -> [String] {
        pairs.compactMap { item, task in
            guard let task else { return "\(item.url): there is no such task" }
            let isExpected =
                switch item.expectation {
                case .content(let file):
                    task.state == "completed" && task.countOfBytesReceived == file.byteCount
                case .anyContent: task.state == "completed"
                case .status(let status):
                    task.state == "failed" && task.error?.httpStatus == status
                }
            let reason = task.error.map { ", \($0.code): \($0.message)" } ?? ""
            return isExpected ? nil : "\(item.url): \(task.state)\(reason)"
        }
    }

    private func contentFaults(
        _ pairs: [Pair]
    ) async throws -> (byteCount: Int64, faults: [String]) {
        var byteCount: Int64 = 0
        var faults: [String] = []
        for (item, task) in pairs {
            guard let task, task.content != nil else { continue }
            screen.showProgress("reading   \(Text.mebibytes(byteCount)) MiB of content")
            let digest = try await ContentDigest(of: service.content(ofTask: task.id))
            byteCount += digest.byteCount
            let isSame =
                if case .content(let file) = item.expectation {
                    digest.sha256 == file.sha256
                } else { digest.byteCount == task.countOfBytesReceived }
            if !isSame { faults.append("\(item.url): \(digest.byteCount) other bytes") }
            if case .anyContent = item.expectation {
                screen.show("content   \(digest.byteCount) bytes, SHA-256 \(digest.hexadecimal)")
            }
        }
        return (byteCount, faults)
    }

    private func clientStringFaults(_ pairs: [Pair], _ timeline: Timeline) -> [String] {
        var expected: [String: String] = [:]
        var faults: [String] = []
        for (item, task) in pairs {
            guard let task else { continue }
            expected[task.id] = item.clientString
            if !Self.isSame(task.clientPersistedString, item.clientString) {
                faults.append("task \(task.id)")
            }
        }
        for entry in timeline.entries {
            guard let task = entry.event.data.task else { continue }
            if !Self.isSame(task.clientPersistedString, expected[task.id]) {
                faults.append("event \(entry.event.data.sequence)")
            }
        }
        return faults
    }

    /// Compares bytes: Swift's own comparison treats strings that only look the same as equal.
    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        left.map { Array($0.utf8) } == right.map { Array($0.utf8) }
    }

    private func signatureFaults(_ timeline: Timeline) -> [String] {
        guard let secret else { return ["the subscription came without a usable secret"] }
        let verifier = WebhookVerifier(secrets: [secret])
        return timeline.entries.compactMap { entry in
            let delivery = entry.delivery
            do {
                try verifier.verify(
                    headers: delivery.headers,
                    body: delivery.body,
                    now: delivery.arrivedAt
                )
                return nil
            } catch {
                return "event \(entry.event.data.sequence): \(error)"
            }
        }
    }

    private func orderFaults(_ timeline: Timeline) -> [String] {
        timeline.entries.enumerated().compactMap { index, entry in
            let sequence = entry.event.data.sequence
            return sequence == index + 1 ? nil : "webhook \(index + 1) is event \(sequence)"
        }
    }

    private func finishFaults(_ timeline: Timeline, _ pairs: [Pair]) -> [String] {
        let finishes = timeline.entries.filter { $0.event.type == Receiver.finishType }
        guard finishes.count == 1 else { return ["it came \(finishes.count) times"] }
        guard let last = timeline.entries.last, last.event.type == Receiver.finishType else {
            return ["something came after it"]
        }
        let completed = pairs.count { $0.task?.state == "completed" }
        let failed = pairs.count { $0.task?.state == "failed" }
        let data = last.event.data
        guard data.completed == Int64(completed), data.failed == Int64(failed) else {
            return ["its counts are not those of the tasks"]
        }
        return []
    }
}
