import Synchronization
import TransferModel
import TransferStore

/// A request's part of the ``SharedResources``.
final class RequestResources: Sendable {
    /// The resources of the request that is being handled.
    @TaskLocal static var current: RequestResources?

    let body: BudgetShare
    let answer: BudgetShare
    /// The time for a body that is held in memory.
    let bodyTimeout: Duration
    private let tenant: TenantID?
    private let shared: SharedResources
    /// What the request is being worked on as; nil when it is not.
    private let work = Mutex<RequestWork?>(nil)

    /// The maximum number of bytes of a body that is not counted.
    static let freeBodyBytesMax = 16 * 1024
    /// The number of bytes above which a body is decoded where it delays no other request.
    static let smallBodyBytesMax = 64 * 1024
    /// The number of bytes above which submissions are also stored one after the other; the store
    /// groups smaller ones, and needs them at once for that.
    static let largeBodyBytes = 1024 * 1024
    /// The number of bytes counted at a time of a body of unknown length.
    private static let bodyStepBytes = 256 * 1024

    init(of shared: SharedResources, for tenant: TenantID?, bodyTimeout: Duration) {
        self.shared = shared
        self.tenant = tenant
        self.bodyTimeout = bodyTimeout
        body = BudgetShare(of: shared.bodies, for: tenant)
        answer = BudgetShare(of: shared.answers, for: tenant)
    }

    deinit { pauseWork() }

    /// Whether the request holds a body that is too large to be decoded beside others.
    var holdsLargeBody: Bool { body.held > Self.smallBodyBytesMax }

    /// Waits for the tenant's turn, from which on the request is worked on.
    func beginWork(isLarge: Bool = false) async {
        let next = isLarge ? shared.largeWork : shared.smallWork
        guard let tenant, work.withLock({ $0 == nil || isLarge && $0 !== next }) else { return }
        pauseWork()
        await next.begin(of: tenant)
        work.withLock { $0 = next }
    }

    /// Takes note that the request is not worked on for now: it waits for its client, or for news.
    func pauseWork() {
        guard let tenant else { return }
        work.withLock { $0.take() }?.end(of: tenant)
    }

    /// Waits until there is room for a body that is announced.
    ///
    /// - Throws: ``Problem`` when there is none in time.
    func awaitRoom(forBytes count: Int) async throws(Problem) {
        if count > Self.freeBodyBytesMax { try await body.take(count) }
    }

    /// Counts the bytes of a body that have arrived.
    ///
    /// - Throws: ``Problem`` when there is no room for them.
    func holdBody(ofBytes count: Int) throws(Problem) {
        guard count > Self.freeBodyBytesMax, count > body.held else { return }
        try body.takeNow(max(count - body.held, Self.bodyStepBytes))
    }

    /// Counts an answer that already exists.
    ///
    /// - Throws: ``Problem`` when there is no room for it and the request can be made again.
    func holdAnswer(ofBytes count: Int, isRepeatable: Bool) throws(Problem) {
        let more = count - answer.held
        guard count > PacedBodyWriter.pieceBytes, more > 0 else { return }
        if isRepeatable { try answer.takeNow(more) } else { answer.overdraw(more) }
    }

    /// Runs `work`, which decodes and stores a submission of so many bytes: one large submission at
    /// a time for each tenant, and of all tenants no more than fit.
    static func submitting<Value: Sendable>(
        _ byteCount: Int,
        _ work: () async throws -> Value
    ) async throws -> Value {
        guard let current else { return try await work() }
        guard byteCount > largeBodyBytes else {
            await current.beginWork()
            return try await work()
        }
        // Whoever has the share needs a turn for its work.
        current.pauseWork()
        let share = BudgetShare(of: current.shared.submissions, for: current.tenant)
        try await share.take(byteCount)
        defer { share.shrink(to: 0) }
        return try await work()
    }

    /// Runs `work`, which stores a submission of so many tasks: a few large submissions at a time,
    /// off the threads that all requests share.
    static func storing<Value: Sendable>(
        _ taskCount: Int,
        _ work: @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let current, taskCount > SubmissionStore.groupedTasksMax else {
            return try await work()
        }
        await current.beginWork(isLarge: true)
        let share = BudgetShare(of: current.shared.storings, for: current.tenant)
        try await share.take(1)
        defer { share.shrink(to: 0) }
        return try await withTaskExecutorPreference(
            current.shared.storingThreads,
            operation: work
        )
    }

    /// Runs `work`, which reads all of a body of so many bytes, off the threads that all requests
    /// share unless it is small.
    static func decoding<Value: Sendable>(
        _ byteCount: Int,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        guard let current, byteCount > smallBodyBytesMax else { return try work() }
        await current.beginWork(isLarge: true)
        let share = BudgetShare(of: current.shared.decodings, for: current.tenant)
        try await share.take(1)
        defer { share.shrink(to: 0) }
        return try await onJSONThreads(work)
    }

    /// Waits for the tenant's turn, and for room for a page of a list.
    func beginPage() async throws(Problem) {
        await beginWork(isLarge: true)
        try await answer.take(PageBytes.max)
    }

    /// Runs `work`, which makes a list, and holds the bytes of a page until the answer is sent.
    static func listing(_ work: () async throws -> Answer) async throws -> Answer {
        guard let current else { return try await work() }
        try await current.beginPage()
        let answer = try await work()
        current.answer.shrink(to: answer.body.count)
        return answer
    }

    /// Runs `work`, which receives what a body has beyond ``smallBodyBytesMax``, off the threads
    /// that all requests share: there are hundreds of pieces.
    static func gathering(_ work: () async throws -> Void) async throws {
        try await withTaskExecutorPreference(current?.shared.bodyThread, operation: work)
    }

    /// Runs `work`, which takes long, off the threads that all requests share.
    static func onJSONThreads<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        guard let current else { return try work() }
        return try await withTaskExecutorPreference(current.shared.jsonThreads) { try work() }
    }
}
