public import TransferWire

/// Background tasks, after BGTaskScheduler: they are launched by the event
/// `background_task.launch` of the client.
extension TransferService {
    /// Changes which background tasks are permitted, and when they run; what is nil stays as it is.
    @discardableResult
    public func change(
        _ settings: BackgroundSettingsPatchRequest
    ) async throws(TransferError) -> BackgroundSettingsDocument {
        try await get(
            ServiceRequest("PATCH", "/v1/tenant/background-settings", json: settings).repeatable()
        )
    }

    /// Registers the handler of a background task, once in the life of the client.
    ///
    /// - Throws: ``TransferError``, with the code `handler_registered` when there is one already.
    @discardableResult
    public func register(
        _ handler: HandlerRequest,
        forTaskWithIdentifier identifier: String
    ) async throws(TransferError) -> HandlerDocument {
        let identifier = PercentEncoding.encodeSegment(identifier)
        return try await get(
            ServiceRequest("PUT", "/v1/background-tasks/handlers/\(identifier)", json: handler)
                .ofClient()
        )
    }

    /// Requests a launch for the client that the request names; one with the same identifier that
    /// has not been launched yet is replaced.
    @discardableResult
    public func submit(
        _ request: BackgroundTaskSubmission
    ) async throws(TransferError) -> BackgroundTaskRequestDocument {
        try await get(
            ServiceRequest("POST", "/v1/background-tasks/requests", json: request).repeatable()
        )
    }

    /// Ends a run, as `setTaskCompleted(success:)` does.
    ///
    /// - Throws: ``TransferError``, with the code `run_ended` when it has ended, which may be by an
    ///   earlier attempt of the same call.
    @discardableResult
    public func complete(
        run identifier: String,
        success: Bool
    ) async throws(TransferError) -> RunDocument {
        try await get(
            ServiceRequest(
                "POST",
                "/v1/background-tasks/runs/\(PercentEncoding.encodeSegment(identifier))/complete",
                json: RunCompletionRequest(success: success)
            ).repeatable()
        )
    }
}
