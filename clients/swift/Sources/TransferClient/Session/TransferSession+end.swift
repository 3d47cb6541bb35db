import Synchronization
import TransferWire

extension TransferSession {
    /// Lets the session end with its last task; it accepts no further ones.
    public func finishTasksAndInvalidate() async throws(TransferError) {
        _ = try await attach()
        try await end(
            ServiceRequest("POST", "\(APIPath.session(configuration.identifier))/finish")
        )
    }

    /// Cancels all outstanding tasks and ends the session.
    public func invalidateAndCancel() async throws(TransferError) {
        try await end(ServiceRequest("DELETE", APIPath.session(configuration.identifier)))
    }

    private func end(_ request: ServiceRequest) async throws(TransferError) {
        _ = try await service.call(request.repeatable().ofClient())
    }

    /// Leaves the session as it is and gives its tasks back, so that another process can take them
    /// over at once.
    ///
    /// Tasks that were resumed are submitted before that, so that none is lost; each is accepted or
    /// refused within the time of the service's `retryPolicy`. Nobody is told of its events any
    /// more. Tasks of this process that wait for a result get the error `session_closed`; the
    /// transfers themselves go on.
    ///
    /// - Throws: ``TransferError`` when the service could not be told; leases then end by
    ///   themselves.
    public func close() async throws(TransferError) {
        await submitter.drain()
        shut(TransferError(.sessionClosed, "The session was closed."))
        try await leases.release(at: service)
    }

    /// Ends what this process does for the session.
    func shut(_ error: TransferError) {
        let pump = state.withLock { state in
            defer { state.pump = nil }
            if state.closing == nil { state.closing = error }
            return state.pump
        }
        pump?.cancel()
        for task in registry.all {
            registry.remove(task)
            task.end(error)
        }
    }
}
