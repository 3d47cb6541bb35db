import Synchronization
public import TransferWire

extension TransferSession {
    /// Takes over the tasks of the session that no process has, ended or not: those of an earlier
    /// process of this program.
    ///
    /// A task without a `taskDescription` cannot be taken over. Each other one is followed from then
    /// on, and its lease is renewed until ``close()``. The delegate is told of those that have
    /// ended, and, if nothing of the session was outstanding, that its events have finished. A task
    /// that has been dealt with is taken over again by the next process unless
    /// ``TransferTask/remove()`` removes it.
    ///
    /// - Parameters:
    ///   - owner: the name of this process, for human readers; nil for that of ``configuration``.
    ///   - persistedFormat: what client strings are expected to be; nil to take any.
    ///   - creationInfo: the extension whose session is adopted.
    /// - Returns: each task, or the reason why this program cannot continue with it.
    /// - Throws: ``TransferError``; tasks that were taken over until then stay so.
    public func reconnect(
        owner: String? = nil,
        persistedFormat: ReconnectRequest.Format? = nil,
        creationInfo: ReconnectRequest.CreationInfo? = nil
    ) async throws(TransferError) -> [Result<TransferTask, ReconnectionError>] {
        let isFirst = state.withLock { !$0.isUsed }
        let document = try await attach()
        state.withLock { $0.isUsed = true }
        var found: [Result<TransferTask, ReconnectionError>] = []
        var cursor: String?
        repeat {
            let request = ReconnectRequest(
                owner: owner ?? configuration.owner,
                leaseSeconds: .some(configuration.leaseDuration.components.seconds),
                limit: 1000,
                cursor: cursor,
                persistedFormat: persistedFormat,
                creationInfo: creationInfo
            )
            let page = try await takeOver(request)
            found += page.items
            cursor = page.next
        } while cursor != nil
        let tasks = found.compactMap { try? $0.get() }
        for task in tasks where task.state == .completed { await tellEnd(of: task) }
        if isFirst, document.outstanding == 0, !tasks.isEmpty {
            await delegate?.urlSessionDidFinishEvents(forBackgroundURLSession: self)
        }
        return found
    }

    private func takeOver(
        _ request: ReconnectRequest
    ) async throws(TransferError) -> (
        items: [Result<TransferTask, ReconnectionError>], next: String?
    ) {
        try await registering { () async throws(TransferError) in
            // Not repeated after a lost response: its tasks are held until that lease ends.
            let page: ReconnectionDocument = try await service.get(
                ServiceRequest(
                    "POST",
                    "\(APIPath.session(configuration.identifier))/reconnect",
                    json: request
                ).ofClient()
            )
            if let token = page.leaseToken { keep(token) }
            await registry.awaitSubmissions()
            let items: [Result<TransferTask, ReconnectionError>] = page.items.compactMap { item in
                if let failure = item.error { return .failure(ReconnectionError(failure)) }
                return item.ok.map { .success(follow($0)) }
            }
            let running = items.compactMap { try? $0.get() }.filter { $0.state != .completed }
            return ((items, page.nextCursor), running)
        }
    }

    func tellEnd(of task: TransferTask) async {
        do throws(TransferError) {
            let result = try await task.result()
            await tellFinished(task, result)
        } catch {
            await delegate?.urlSession(self, task: task, didCompleteWithError: error)
        }
    }

    private func tellFinished(_ task: TransferTask, _ result: TransferResult) async {
        if task.kind == .download {
            await delegate?.urlSession(self, downloadTask: task, didFinishDownloading: result)
        }
        await delegate?.urlSession(self, task: task, didCompleteWithError: nil)
    }
}
