public import TransferWire

/// Background tasks, after BGTaskScheduler: they are launched by the event
/// `background_task.launch` of the client.
extension TransferService {
    private static let settingsPath = "/v1/tenant/background-settings"

    /// Changes which background tasks are permitted, and when they run; what is nil stays as it is.
    ///
    /// The identifiers replace those of the whole tenant; ``permit(identifiers:)`` adds to them.
    @discardableResult
    public func change(
        _ settings: BackgroundSettingsPatchRequest
    ) async throws(TransferError) -> BackgroundSettingsDocument {
        try await get(ServiceRequest("PATCH", Self.settingsPath, json: settings).repeatable())
    }

    /// Permits identifiers of background tasks, or beginnings of them followed by `*`, in addition
    /// to those that the tenant permits already.
    ///
    /// - Returns: the settings, with all identifiers that are permitted.
    /// - Throws: ``TransferError``, with the code `precondition_failed` when others change the
    ///   settings during each of the attempts that the retry policy allows.
    @discardableResult
    public func permit(
        identifiers: [String]
    ) async throws(TransferError) -> BackgroundSettingsDocument {
        var attempts = 0
        while true {
            attempts += 1
            let isLast = attempts >= retryPolicy.attemptsMax
            let response = try await call(ServiceRequest("GET", Self.settingsPath))
            let settings: BackgroundSettingsDocument = try response.document()
            let permitted = settings.permittedIdentifiers
            let missing = identifiers.filter { !permitted.contains($0) }
            guard !missing.isEmpty else { return settings }
            guard let tag = response.header("ETag") else {
                throw TransferError(.unexpectedResponse, "The response has no ETag.")
            }
            let patch = BackgroundSettingsPatchRequest(permittedIdentifiers: permitted + missing)
            let request = try ServiceRequest("PATCH", Self.settingsPath, json: patch)
                .adding("If-Match", tag).repeatable()
            do throws(TransferError) {
                return try await get(request)
            } catch  where error.problem?.code == .preconditionFailed && !isLast {
                continue
            }
        }
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
            ServiceRequest("POST", "/v1/background-tasks/requests", json: request)
                .withIdempotencyKey()
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
        try await change(run: identifier, "complete", RunCompletionRequest(success: success))
    }

    /// Lets a run have at least this time from now, within the bound of its kind; a later deadline
    /// stays.
    ///
    /// - Throws: ``TransferError``, with the code `run_ended` when it has ended.
    @discardableResult
    public func extend(
        run identifier: String,
        forAtLeast time: Duration
    ) async throws(TransferError) -> RunDocument {
        try await change(run: identifier, "extend", RunExtensionRequest(seconds: time.seconds))
    }

    /// Changes a run by a verb of its route, which does no more when it arrives twice.
    private func change(
        run identifier: String,
        _ verb: String,
        _ change: some Encodable
    ) async throws(TransferError) -> RunDocument {
        let run = "/v1/background-tasks/runs/\(PercentEncoding.encodeSegment(identifier))"
        return try await get(ServiceRequest("POST", "\(run)/\(verb)", json: change).repeatable())
    }
}
