import Foundation
import TransferModel
import TransferWire

extension EventMessage {
    /// - Parameters:
    ///   - event: what happened.
    ///   - linkBase: the service's public URL without a slash at the end; nil for links that are
    ///     relative to it.
    init(_ event: SessionEvent, linkBase: String?) {
        self.init(
            id: event.id.uuidString.lowercased(),
            type: event.kind.rawValue,
            timestamp: Timestamp(event.occurredAt),
            data: Content(
                sessionIdentifier: event.sessionIdentifier,
                sequence: event.sequence,
                generation: event.generation,
                task: event.task.map(Task.init),
                summary: event.summary.map { summary in
                    Summary(
                        summary,
                        failedTasksURL: Self.failedTasksURL(
                            ofSession: event.sessionIdentifier,
                            linkBase: linkBase
                        )
                    )
                }
            )
        )
    }

    private static func failedTasksURL(ofSession identifier: String, linkBase: String?) -> String {
        let segment = identifier.utf8.map { byte in
            isUnreserved(byte)
                ? String(Unicode.Scalar(byte))
                : "%" + hexadecimal(byte >> 4) + hexadecimal(byte & 15)
        }
        return "\(linkBase ?? "")/v1/sessions/\(segment.joined())/tasks?state=failed"
    }

    /// What a URL's path holds as it is (RFC 3986, section 2.3).
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> String {
        String(digit, radix: 16, uppercase: true)
    }
}

extension EventMessage.Task {
    init(_ task: SessionEvent.TaskSnapshot) {
        self.init(
            id: task.id.description,
            state: task.state.rawValue,
            attempt: task.attempt,
            clientPersistedString: task.clientString?.string,
            countOfBytesReceived: task.bytesReceived,
            error: task.failure.map(TaskDocument.Failure.init)
        )
    }
}

extension TaskDocument.Failure {
    init(_ failure: TransferFailure) {
        self.init(
            domain: failure.domain.rawValue,
            code: failure.code.rawValue,
            message: failure.message,
            httpStatus: failure.httpStatus,
            isRetryable: failure.isRetryable
        )
    }
}

extension EventMessage.Summary {
    init(_ summary: SessionEvent.GenerationSummary, failedTasksURL: String) {
        self.init(
            completed: summary.completed,
            failed: summary.failed,
            cancelled: summary.cancelled,
            failedTasks: summary.failedTasks.map { task in
                EventMessage.FailedTask(
                    id: task.id.description,
                    clientPersistedString: task.clientString?.string,
                    code: task.code.rawValue
                )
            },
            failedTasksURL: failedTasksURL
        )
    }
}
