public import Foundation
import Synchronization
public import TransferWire

extension TransferSession {
    /// Creates a download of a URL, which starts with its `resume()`.
    public func downloadTask(with url: String) -> TransferTask {
        downloadTask(with: TransferRequest(url: url))
    }

    /// Creates a download of a URL, which starts with its `resume()`.
    public func downloadTask(with url: URL) -> TransferTask {
        downloadTask(with: url.absoluteString)
    }

    /// Creates a download, which starts with its `resume()`.
    public func downloadTask(with request: TransferRequest) -> TransferTask {
        TransferTask(kind: .download, request: request, source: nil, session: self)
    }

    /// Creates an upload of a file of this machine, whose bytes are sent to the service first.
    public func uploadTask(with request: TransferRequest, fromFile file: URL) -> TransferTask {
        TransferTask(kind: .upload, request: request, source: .file(file), session: self)
    }

    /// Creates an upload of bytes, which come with the task: at most a few megabytes.
    public func uploadTask(with request: TransferRequest, from bytes: [UInt8]) -> TransferTask {
        TransferTask(kind: .upload, request: request, source: .bytes(bytes), session: self)
    }

    /// Creates an upload of a file of the tenant's container.
    public func uploadTask(
        with request: TransferRequest,
        fromContainerPath path: String
    ) -> TransferTask {
        TransferTask(kind: .upload, request: request, source: .container(path: path), session: self)
    }

    /// Creates an upload of what another origin has, which the service asks for with `source`'s URL
    /// and headers.
    public func uploadTask(
        with request: TransferRequest,
        copyingFrom source: TransferRequest
    ) -> TransferTask {
        let copy = CopyRequest(url: source.url, headers: source.allHTTPHeaderFields)
        return TransferTask(kind: .upload, request: request, source: .copy(copy), session: self)
    }

    /// Creates an upload of the result of a completed download, by its `id`.
    public func uploadTask(
        with request: TransferRequest,
        copyingResultOf id: String
    ) -> TransferTask {
        let copy = CopyRequest(task: id)
        return TransferTask(kind: .upload, request: request, source: .copy(copy), session: self)
    }

    /// Creates a request with a short response, which an ephemeral session alone can have.
    public func dataTask(with request: TransferRequest) -> TransferTask {
        TransferTask(kind: .data, request: request, source: nil, session: self)
    }

    /// All tasks that have not ended, also those of other processes.
    ///
    /// Each is followed from then on, as if this process had submitted it.
    public var allTasks: [TransferTask] {
        get async throws(TransferError) {
            // A task may be accepted between the two looks, and is then found by both.
            var tasks = submitter.waiting
            var cursor: String?
            repeat {
                tasks += try await registering { () async throws(TransferError) in
                    let page = try await service.tasks(
                        ofSession: configuration.identifier,
                        states: Self.outstandingStates,
                        after: cursor
                    )
                    cursor = page.nextCursor
                    try await registry.awaitSubmissions()
                    let tasks = page.items.map { follow($0) }
                    return (tasks, tasks)
                }
            } while cursor != nil
            var seen: Set<ObjectIdentifier> = []
            return tasks.filter { seen.insert(ObjectIdentifier($0)).inserted }
        }
    }

    private static let outstandingStates = [
        "suspended", "scheduled", "waiting_to_begin", "queued", "running", "waiting_for_retry",
        "waiting_for_connectivity", "waiting_for_authentication",
    ]

    /// The session's events since this process first used it, each as it happens.
    public var events: TransferEvents {
        TransferEvents(service: service, sessionIdentifier: configuration.identifier) {
            () async throws(TransferError) in
            EventCursor(try await self.firstDocument())
        }
    }

    /// Returns the events behind a cursor that was kept.
    public func events(after cursor: EventCursor, types: [String] = []) -> TransferEvents {
        TransferEvents(
            service: service,
            sessionIdentifier: configuration.identifier,
            after: cursor,
            types: types
        )
    }
}

extension TransferSession {
    /// Takes over the tasks of the session that no process has, ended or not: those of an earlier
    /// process of this program.
    ///
    /// A task without a `taskDescription` cannot be taken over. Each other one is followed from
    /// then on, and its lease is renewed until ``close()``, or until it has ended and the program
    /// has removed it or keeps neither it nor its result. The delegate is told of those that have
    /// ended, is asked the questions that are open, and, if nothing of the session was outstanding,
    /// is told that its events have finished; none of that is awaited here. A task that has been
    /// dealt with is taken over again by the next process unless ``TransferTask/remove()`` removes
    /// it.
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
        registry.beginReconnection()
        defer { registry.endReconnection() }
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
            let tasks = page.items.compactMap { try? $0.get() }
            tell { delegate in
                // One of the callbacks may close the session.
                for task in tasks where !self.isClosed {
                    await self.tellState(of: task, to: delegate)
                }
            }
        } while cursor != nil
        let hasTasks = found.contains { (try? $0.get()) != nil }
        if isFirst, document.outstanding == 0, hasTasks {
            tell { delegate in
                guard !self.isClosed else { return }
                await delegate.urlSessionDidFinishEvents(forBackgroundURLSession: self)
            }
        }
        return found
    }

    private func takeOver(
        _ request: ReconnectRequest
    ) async throws(TransferError) -> (
        items: [Result<TransferTask, ReconnectionError>], next: String?
    ) {
        try await registering { () async throws(TransferError) in
            let start = ContinuousClock.now
            // Not repeated after a lost response: its tasks are held until that lease ends.
            let page: ReconnectionDocument = try await service.get(
                ServiceRequest(
                    "POST",
                    "\(APIPath.session(configuration.identifier))/reconnect",
                    json: request
                ).ofClient()
            )
            keep(page, nil, since: start)
            do throws(TransferError) {
                try await registry.awaitSubmissions()
            } catch {
                // Nobody will have the handles of its tasks.
                if let token = page.leaseToken { leases.giveBack(token) }
                throw error
            }
            let items: [Result<TransferTask, ReconnectionError>] = page.items.compactMap { item in
                if let failure = item.error { return .failure(ReconnectionError(failure)) }
                return item.ok.map { .success(follow($0)) }
            }
            let tasks = items.compactMap { try? $0.get() }
            keep(page, tasks, since: start)
            return ((items, page.nextCursor), tasks)
        }
    }

    /// Renews the lease of a page, whose handles are made some time after it has come.
    private func keep(
        _ page: ReconnectionDocument,
        _ tasks: [TransferTask]?,
        since start: ContinuousClock.Instant
    ) {
        guard let token = page.leaseToken else { return }
        let count = tasks == nil ? page.items.count : 0
        keep(LeaseKeeper.Grant(token: token, tasks: tasks, count: count, start: start))
    }
}

extension TransferSession {
    /// The lease that a submission names.
    struct SubmissionLease {
        let token: String
        let headers: [(name: String, value: String)]
    }

    /// Returns the lease for tasks to be submitted; nil when this process has no name.
    func leaseForSubmission(of count: Int) -> SubmissionLease? {
        guard let owner = configuration.owner else { return nil }
        let token = leases.token(for: count)
        return SubmissionLease(
            token: token,
            headers: [
                ("Lease-Token", token), ("Lease-Owner", owner),
                ("Lease-Seconds", "\(configuration.leaseDuration.components.seconds)"),
            ]
        )
    }

    /// Renews a lease until the session is closed or nobody here has its tasks; the delegate is
    /// told if it is lost before.
    func keep(_ grant: LeaseKeeper.Grant) {
        leases.keep(grant) { error in self.tellFailure(of: nil, error) }
    }
}
