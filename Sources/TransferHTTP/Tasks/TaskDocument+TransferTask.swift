import Foundation
import TransferModel
import TransferWebhooks
import TransferWire

extension TaskDocument {
    /// Describes a task as its client sees it.
    init(_ task: TransferTask) {
        self.init(
            id: task.id.description,
            client: task.client.name,
            sessionIdentifier: task.sessionIdentifier,
            kind: task.kind.rawValue,
            method: task.method,
            state: task.state.rawValue,
            urlSessionState: task.state.urlSessionState,
            url: task.url,
            priority: task.priority.value,
            attempt: task.attempt,
            countOfBytesReceived: task.bytesReceived,
            countOfBytesExpectedToReceive: task.bytesExpected ?? -1,
            countOfBytesSent: task.bytesSent,
            countOfBytesExpectedToSend: task.bytesToSend ?? -1,
            createdAt: Timestamp(task.createdAt)
        )
        bytesPerSecondMax = task.options.bytesPerSecondMax
        bytesPerSecond = task.bytesPerSecond
        estimatedTimeRemaining = task.estimatedTimeRemaining
        clientPersistedString = task.clientString?.string
        earliestBeginAt = task.earliestBeginAt.map(Timestamp.init)
        destination = task.destination.map {
            Destination(path: $0.path, overwrite: $0.overwrite)
        }
        reason = task.reason
        until = task.waitsUntil.map(Timestamp.init)
        error = task.failure.map(Failure.init)
        // Only here, because events are to stay small.
        error?.responseBody = task.failure?.responseBody
            .map { Data($0).base64EncodedString() }
        expectedSize = task.options.expectedSize
        checksums = (task.options.checksums ?? []).byAlgorithm
        mirrors = task.options.mirrors
        response = task.result.map { Response($0) }
        contentGoneAt = task.resultGoneAt.map(Timestamp.init)
        if task.state == .completed, task.resultGoneAt == nil {
            content = APIPath.content(of: task.id)
        }
        finishedAt = task.finishedAt.map(Timestamp.init)
        expiresAt = task.expiresAt.map(Timestamp.init)
    }
}

extension TransferTask {
    /// The seconds until all bytes have arrived at the current rate; nil while that cannot be
    /// known.
    var estimatedTimeRemaining: Double? {
        guard let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        let left =
            switch kind {
            case .download, .data: bytesExpected.map { $0 - bytesReceived }
            case .upload: bytesToSend.map { $0 - bytesSent }
            }
        guard let left, left >= 0 else { return nil }
        return Double(left) / Double(bytesPerSecond)
    }

    /// The reason why the task waits, as text for people; nil when it runs or has ended.
    var reason: String? {
        let time = waitsUntil.map { Timestamp($0).rfc3339 }
        switch state {
        case .suspended where awaitsBody:
            return "The task waits for its client to bring the bytes."
        case .suspended: return "The task is suspended and waits to be resumed."
        case .scheduled:
            return "The task waits for its earliest_begin_at\(time.map { ", \($0)" } ?? "")."
        case .queued: return "The task waits for a free slot for its host."
        case .waitingForRetry:
            let next = time.map { " at \($0)." } ?? " later."
            let cause = failure.map { " (\($0.code.rawValue))" } ?? ""
            // The number of one that does not count was given back.
            let isCounted = attempt > 0 && failure?.shortage == nil
            let subject = isCounted ? "Attempt \(attempt)" : "An attempt that does not count"
            return "\(subject) did not succeed\(cause); the next one begins\(next)"
        case .waitingForConnectivity:
            let isOutOfService = failure?.httpStatus == 503
            let cause = isOutOfService ? "answers that it is out of service" : "cannot be reached"
            return "The host \(cause); it is tried again"
                + (time.map { " at \($0), or as soon as another task reaches it." } ?? " later.")
        case .waitingToBegin:
            return "The client is asked whether the task is to begin; it fails without an answer"
                + (time.map { " by \($0)." } ?? " in time.")
        case .waitingForAuthentication:
            // That is found before a request to the origin.
            let isUnusable = failure?.code == .credentialUnusable
            let cause =
                isUnusable
                ? "The client is asked for a credential, as the one to be sent cannot be used"
                : "The server wants a credential"
            return "\(cause); the task fails without one"
                + (time.map { " by \($0)." } ?? " in time.")
        case .running, .completed, .failed, .cancelled: return nil
        }
    }
}
