public import Foundation
import Synchronization
import TransferWire

/// A named set of tasks, after `URLSession`; its transfers go on while no process of its program
/// runs.
///
/// The session is created, or found again, with the first task that is resumed, or by
/// ``reconnect(owner:persistedFormat:creationInfo:)``. It keeps itself and its delegate alive from
/// then on, until it ends or ``close()`` is called.
public final class TransferSession: Sendable {
    /// What the session is called, and what holds for its tasks.
    public let configuration: TransferSessionConfiguration
    /// The service that runs its tasks.
    public let service: TransferService
    /// Who is told what happens.
    public let delegate: (any TransferSessionDelegate)?

    let registry = TaskRegistry()
    let submitter = TaskSubmitter()
    let leases: LeaseKeeper
    let totals = SessionProgress()
    let state = Mutex(SessionState())

    /// Names a session; nothing is sent yet.
    public init(
        configuration: TransferSessionConfiguration,
        service: TransferService,
        delegate: (any TransferSessionDelegate)? = nil
    ) {
        self.configuration = configuration
        self.service = service
        self.delegate = delegate
        leases = LeaseKeeper(at: service, for: configuration.leaseDuration)
    }
}

extension TransferSession {
    /// Lets the session end with its last task, once those that were resumed are submitted; it
    /// accepts no further ones.
    public func finishTasksAndInvalidate() async throws(TransferError) {
        try await submitter.awaitAnswers()
        let document = try await attach()
        try await service.end(
            configuration.identifier,
            id: document.id,
            with: ServiceRequest("POST", "\(APIPath.session(configuration.identifier))/finish")
        )
    }

    /// Cancels all outstanding tasks and ends the session.
    ///
    /// Another session that has its name meanwhile is left alone.
    public func invalidateAndCancel() async throws(TransferError) {
        try await service.end(
            configuration.identifier,
            id: attachedID(),
            with: ServiceRequest("DELETE", APIPath.session(configuration.identifier))
        )
    }

    /// Returns which session of its name this process has used; nil when it has used none.
    private func attachedID() async throws(TransferError) -> String? {
        guard let attachment = state.withLock(\.attachment),
            case .success(let document) = try await attachment.first({ $0 })
        else { return nil }
        return document.id
    }

    /// Leaves the session as it is and gives its tasks back, so that another process can take them
    /// over at once.
    ///
    /// Tasks that were resumed are submitted before that, and the files of uploads are sent to the
    /// service, so that none is lost and the program may exit. That takes as long as the files, and
    /// while the service is away ``TransferSessionConfiguration/timeoutIntervalForSubmission``. To
    /// wait no longer, cancel the caller, or those tasks: the `serviceState` of an upload whose
    /// file has not been sent is `suspended`, that of a task that was not submitted is nil.
    ///
    /// Then nobody is told of the session's events any more. Tasks of this process that wait for a
    /// result get the error `session_closed`; the transfers themselves go on. A callback of the
    /// delegate may call it.
    ///
    /// - Throws: ``TransferError``: `cancelled` when the caller was cancelled while it waited, and
    ///   the session is open as before; any other when the service could not be told, and leases
    ///   end by themselves.
    public func close() async throws(TransferError) {
        try await submitter.drain()
        state.withLock { $0.isClosed = true }
        shut(TransferError(.sessionClosed, "The session was closed."))
        try await leases.release()
    }

    /// Ends what this process does for the session.
    ///
    /// - Returns: whether that had not been done before.
    @discardableResult func shut(_ error: TransferError) -> Bool {
        let (pump, isFirst) = state.withLock { state in
            defer { state.pump = nil }
            let isFirst = state.closing == nil
            if isFirst { state.closing = error }
            return (state.pump, isFirst)
        }
        pump?.cancel()
        for task in registry.all {
            registry.remove(task)
            task.endWithSession(error)
        }
        return isFirst
    }
}

extension TransferSession {
    /// Calls the delegate once the calls before this one have returned.
    ///
    /// A call is a task of its own, which nobody cancels: a callback may close the session, and ask
    /// the service whatever it likes. What a callback may wait for, such as ``close()``, must not
    /// await the call.
    @discardableResult func tell(
        _ call: @escaping @Sendable (any TransferSessionDelegate) async -> Void
    ) -> Task<Void, Never>? {
        guard let delegate else { return nil }
        return state.withLock { state in
            let earlier = state.lastCall
            let next = Task {
                await earlier?.value
                await call(delegate)
            }
            state.lastCall = next
            return next
        }
    }

    /// Calls the delegate for an event, unless the session is closed by then, and returns once it
    /// has been told.
    func tellEvent(
        _ call: @escaping @Sendable (any TransferSessionDelegate) async -> Void
    ) async {
        let told = tell { delegate in
            if !self.isClosed { await call(delegate) }
        }
        await told?.value
    }

    /// Whether the program has closed the session; one that ends by itself tells what is known.
    var isClosed: Bool { state.withLock(\.isClosed) }
}

extension TransferSession {
    /// The progress of the tasks that this process has resumed or taken over, each with the same
    /// share of the whole, however long it is.
    ///
    /// A task that has ended is done, also one that has failed. The numbers of tasks are under
    /// `fileTotalCountKey` and `fileCompletedCountKey` of its `userInfo`. It cannot be cancelled or
    /// paused.
    public var progress: Progress { totals.progress }
}
