package import TransferStore

/// The stores that the engine works with.
///
/// One reference, because each piece of work copies them.
package final class EngineStores: Sendable {
    package let control: ControlStore
    package let cancellations: CancellationStore
    package let bulkOperations: BulkOperationStore
    package let questions: QuestionStore
    package let answers: AnswerStore
    package let deliveries: DeliveryStore
    package let idempotency: IdempotencyStore
    package let credentials: CredentialStore
    package let queue: QueueStore
    package let completions: CompletionStore
    package let parts: PartStore
    package let uploadResources: UploadResourceStore
    package let copies: CopyStore
    package let pauses: PauseStore
    package let mirrors: MirrorStore
    package let workers: WorkerStore
    package let hosts: HostStore
    package let retention: RetentionStore
    package let stagedBodies: StagedBodyStore
    package let erasure: ErasureStore
    package let partitions: PartitionStore
    package let verification: VerificationStore
    package let timers: TimerStore
    package let resumptions: ResumptionStore
    package let runs: RunStore
    package let assertions: AssertionStore
    package let audit: AuditStore
    package let ownerRemovals: OwnerRemovalStore
    package let testHooks: TestHookStore

    /// Creates the stores on one database.
    package init(_ database: Database) {
        control = ControlStore(database)
        cancellations = CancellationStore(database)
        bulkOperations = BulkOperationStore(database)
        questions = QuestionStore(database)
        answers = AnswerStore(database)
        deliveries = DeliveryStore(database)
        idempotency = IdempotencyStore(database)
        credentials = CredentialStore(database)
        queue = QueueStore(database)
        completions = CompletionStore(database)
        parts = PartStore(database)
        uploadResources = UploadResourceStore(database)
        copies = CopyStore(database)
        pauses = PauseStore(database)
        mirrors = MirrorStore(database)
        workers = WorkerStore(database)
        hosts = HostStore(database)
        retention = RetentionStore(database)
        stagedBodies = StagedBodyStore(database)
        erasure = ErasureStore(database)
        partitions = PartitionStore(database)
        verification = VerificationStore(database)
        timers = TimerStore(database)
        resumptions = ResumptionStore(database)
        runs = RunStore(database)
        assertions = AssertionStore(database)
        audit = AuditStore(database)
        ownerRemovals = OwnerRemovalStore(database)
        testHooks = TestHookStore(database)
    }
}
