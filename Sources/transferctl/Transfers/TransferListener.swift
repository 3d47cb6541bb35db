import TransferClient
import TransferWire

/// Passes on what a session tells: how far its tasks are to a reporter, and their ends.
final class TransferListener: TransferSessionDelegate {
    /// The tasks that have ended, each once or more; ends, or throws, with the session.
    let ended: AsyncThrowingStream<TransferTask, any Error>
    private let source: AsyncThrowingStream<TransferTask, any Error>.Continuation
    private let reporter: ProgressReporter

    init(_ reporter: ProgressReporter) {
        self.reporter = reporter
        (ended, source) = AsyncThrowingStream.makeStream()
    }

    func urlSession(
        _ session: TransferSession,
        downloadTask task: TransferTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) async { report(task, totalBytesWritten, of: totalBytesExpectedToWrite) }

    func urlSession(
        _ session: TransferSession,
        task: TransferTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) async { report(task, totalBytesSent, of: totalBytesExpectedToSend) }

    func urlSession(_ session: TransferSession, taskIsWaitingForConnectivity task: TransferTask)
        async
    {
        let isUpload = task.kind == .upload
        report(
            task,
            isUpload ? task.countOfBytesSent : task.countOfBytesReceived,
            of: isUpload ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
        )
    }

    func urlSession(
        _ session: TransferSession,
        task: TransferTask,
        didCompleteWithError error: TransferError?
    ) async { source.yield(task) }

    func urlSession(
        _ session: TransferSession,
        task: TransferTask?,
        didFailWithoutEnding error: TransferError
    ) async {
        reporter.note("\(task?.originalRequest.url ?? session.configuration.identifier): \(error)")
    }

    func urlSession(
        _ session: TransferSession,
        didBecomeInvalidWithError error: TransferError?
    ) async {
        source.finish(
            throwing: error ?? TransferError(.sessionClosed, "The session has ended.")
        )
    }

    private func report(_ task: TransferTask, _ bytes: Int64, of total: Int64) {
        guard let id = task.taskIdentifier else { return }
        reporter.update {
            $0.report(
                id,
                name: FileNames.name(of: task.originalRequest.url),
                state: task.serviceState ?? "",
                bytes: bytes,
                of: total < 0 ? nil : total,
                at: $1
            )
        }
    }
}
