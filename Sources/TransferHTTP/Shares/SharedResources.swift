import Hummingbird
import PollLoop
import TransferModel

/// The resources that the requests of an instance share, with the part that each may have.
final class SharedResources: Sendable {
    /// Bodies of requests, except those of uploads, which go to the disk as they arrive.
    let bodies: FairBudget
    /// Large submissions between their first byte decoded and their commit.
    let submissions: FairBudget
    /// Large bodies that are being decoded, one of a tenant; two of one that is alone.
    let decodings: FairBudget
    /// Submissions of so many tasks that each has its own transaction, while they are stored: they
    /// must not take all connections to the database.
    let storings: FairBudget
    /// Answers from the moment they are made until they are sent.
    let answers: FairBudget
    /// Requests for little while they are worked on.
    let smallWork: RequestWork
    /// Requests for lists or for many tasks while they are worked on.
    let largeWork: RequestWork
    /// The event loops that requests run on.
    let requestLoops = RequestLoops()
    /// The thread on which large bodies are gathered as they arrive; not behind what takes long.
    let bodyThread = LongWorkThreads(count: 1)
    /// The threads for the JSON of many tasks.
    let jsonThreads = LongWorkThreads(count: jsonThreadCount)
    /// The threads on which large submissions are stored; not behind a body that takes long to
    /// decode.
    let storingThreads = LongWorkThreads(count: storingsMax)

    /// The number of threads, of which a tenant that is alone may have all.
    ///
    /// Of two submissions one is small, and soon decoded. Each further thread would keep as much
    /// memory as the largest submission took.
    static let jsonThreadCount = 2
    /// Half of the processors, because a database on the same machine needs as many: on two
    /// processors, a second submission of the same tenant costs the others what it gains.
    static let storingsPerTenantMax = min(2, max(1, Processors.count / 2))
    /// What it takes to keep all processors busy, where nobody else needs them.
    static let storingsAloneMax = 2
    static let storingsMax = storingsAloneMax + 1
    /// The bytes of all submissions decoded at once, which take several times as much memory.
    static let submissionBytesMax = Request.bodyBytesMax
    static let answerBytesMax = 24 * 1024 * 1024
    static let answerBytesPerTenantMax = 8 * 1024 * 1024

    /// Creates the resources.
    ///
    /// - Parameters:
    ///   - bodyBytesMax: of all bodies that are held at once; a tenant has half of it.
    ///   - presence: told which tenants have requests.
    ///   - processors: tells how busy the processors are.
    init(
        bodyBytesMax: Int,
        presence: TenantPresence = TenantPresence(),
        processors: @escaping @Sendable () -> ProcessorUse = ProcessorUse.now
    ) {
        smallWork = RequestWork(limit: .small, beside: presence, processors: processors)
        largeWork = RequestWork(limit: .large, beside: presence, processors: processors)
        bodies = FairBudget(.bodyBytes, max: bodyBytesMax, perTenantMax: bodyBytesMax / 2)
        submissions = FairBudget(
            .submissionBytes,
            max: Self.submissionBytesMax,
            // One at a time.
            perTenantMax: 0
        )
        decodings = FairBudget(
            .submissionBytes,
            max: Self.jsonThreadCount,
            perTenantMax: 1,
            alone: (Self.jsonThreadCount, presence)
        )
        storings = FairBudget(
            .submissions,
            max: Self.storingsMax,
            perTenantMax: Self.storingsPerTenantMax,
            alone: (Self.storingsAloneMax, presence)
        )
        answers = FairBudget(
            .answerBytes,
            max: Self.answerBytesMax,
            perTenantMax: Self.answerBytesPerTenantMax
        )
    }
}
