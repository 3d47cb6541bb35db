public import TransferWire

/// What a session tells its program, with the names of URLSession's callbacks.
///
/// They come one after the other, in the order of the session's events; the next one waits for
/// the one before. So a callback may close the session and call the service, but cannot wait for
/// the end of another task. Each end is told once, to the process that has submitted its task or
/// taken it over. All callbacks may be left out.
public protocol TransferSessionDelegate: AnyObject, Sendable {
    /// A download has its file; ``urlSession(_:task:didCompleteWithError:)`` follows.
    func urlSession(
        _ session: TransferSession,
        downloadTask: TransferTask,
        didFinishDownloading result: TransferResult
    ) async

    /// A download has received bytes, at the session's `progressInterval`.
    func urlSession(
        _ session: TransferSession,
        downloadTask: TransferTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) async

    /// The origin of a download sends only the missing bytes.
    func urlSession(
        _ session: TransferSession,
        downloadTask: TransferTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) async

    /// An upload has sent bytes to its URL, at the session's `progressInterval`.
    func urlSession(
        _ session: TransferSession,
        task: TransferTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) async

    /// A task waits for another attempt, or for connectivity; its `error` tells why.
    func urlSession(_ session: TransferSession, taskIsWaitingForConnectivity task: TransferTask)
        async

    /// A task with `asks_to_begin` may begin; a reconnection also asks what was asked before it.
    ///
    /// - Returns: the answer; nil to leave it to somebody else, or to ``TransferTask/begin(_:)``.
    func urlSession(
        _ session: TransferSession,
        willBeginDelayedRequest task: TransferTask
    ) async -> BeginRequest?

    /// The origin of a task asks for a credential; a reconnection also asks what was asked before
    /// it.
    ///
    /// - Returns: the answer; nil to leave it to somebody else, or to
    ///   ``TransferTask/authenticate(_:)``.
    func urlSession(
        _ session: TransferSession,
        task: TransferTask,
        didReceive challenges: [TaskDocument.Failure.Challenge]
    ) async -> ChallengeRequest?

    /// A task has ended, with nil for success; also one that the service did not accept.
    func urlSession(
        _ session: TransferSession,
        task: TransferTask,
        didCompleteWithError error: TransferError?
    ) async

    /// A call that the session made by itself failed: a task could not be resumed, an answer did
    /// not arrive and has to be given again, or a lease was lost and its tasks may now be another
    /// process's.
    func urlSession(
        _ session: TransferSession,
        task: TransferTask?,
        didFailWithoutEnding error: TransferError
    ) async

    /// The session has ended, or with an error, its events can no longer be read.
    func urlSession(
        _ session: TransferSession,
        didBecomeInvalidWithError error: TransferError?
    ) async

    /// Nothing of the session's generation is outstanding; the last callback of a generation.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: TransferSession) async
}

extension TransferSessionDelegate {
    /// Does nothing.
    public func urlSession(
        _ session: TransferSession,
        downloadTask: TransferTask,
        didFinishDownloading result: TransferResult
    ) async {}

    /// Does nothing.
    public func urlSession(
        _ session: TransferSession,
        downloadTask: TransferTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) async {}

    /// Does nothing.
    public func urlSession(
        _ session: TransferSession,
        downloadTask: TransferTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) async {}

    /// Does nothing.
    public func urlSession(
        _ session: TransferSession,
        task: TransferTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) async {}

    /// Does nothing.
    public func urlSession(
        _ session: TransferSession,
        taskIsWaitingForConnectivity task: TransferTask
    ) async {}

    /// Leaves the answer to somebody else.
    public func urlSession(
        _ session: TransferSession,
        willBeginDelayedRequest task: TransferTask
    ) async -> BeginRequest? { nil }

    /// Leaves the answer to somebody else.
    public func urlSession(
        _ session: TransferSession,
        task: TransferTask,
        didReceive challenges: [TaskDocument.Failure.Challenge]
    ) async -> ChallengeRequest? { nil }

    /// Does nothing.
    public func urlSession(
        _ session: TransferSession,
        task: TransferTask,
        didCompleteWithError error: TransferError?
    ) async {}

    /// Does nothing.
    public func urlSession(
        _ session: TransferSession,
        task: TransferTask?,
        didFailWithoutEnding error: TransferError
    ) async {}

    /// Does nothing.
    public func urlSession(
        _ session: TransferSession,
        didBecomeInvalidWithError error: TransferError?
    ) async {}

    /// Does nothing.
    public func urlSessionDidFinishEvents(forBackgroundURLSession session: TransferSession) async {}
}
