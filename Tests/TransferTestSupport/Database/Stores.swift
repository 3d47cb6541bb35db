package import TransferStore

/// All stores over one database.
package struct Stores: Sendable {
    /// The database of all of them.
    package let database: Database
    package let tenants: TenantStore
    package let keys: KeyStore
    package let clients: ClientStore
    package let resumptions: ResumptionStore
    package let assertions: AssertionStore
    package let timers: TimerStore
    package let handlers: HandlerStore
    package let requests: BackgroundTaskRequestStore
    package let runs: RunStore
    package let sessions: SessionStore
    package let tasks: TaskStore
    package let taskLists: TaskListStore
    package let control: ControlStore
    package let retries: RetryStore
    package let stagedBodies: StagedBodyStore
    package let removals: RemovalStore
    package let cancellations: CancellationStore
    package let bulkOperations: BulkOperationStore
    package let questions: QuestionStore
    package let answers: AnswerStore
    package let submissions: SubmissionStore
    package let idempotency: IdempotencyStore
    package let credentials: CredentialStore
    package let events: EventStore
    package let subscriptions: SubscriptionStore
    package let deliveries: DeliveryStore
    package let deliveryLog: DeliveryLogStore
    package let wakeUps: WakeUpStore
    package let queue: QueueStore
    package let completions: CompletionStore
    package let parts: PartStore
    package let uploadResources: UploadResourceStore
    package let copies: CopyStore
    package let mirrors: MirrorStore
    package let workers: WorkerStore
    package let fleet: FleetStore
    package let hosts: HostStore
    package let retention: RetentionStore
    package let erasure: ErasureStore
    package let partitions: PartitionStore
    package let verification: VerificationStore
    package let counts: CountStore
    package let audit: AuditStore
    package let ownerRemovals: OwnerRemovalStore
    package let testHooks: TestHookStore

    /// Makes all stores over `database`.
    package init(_ database: Database) {
        self.database = database
        tenants = TenantStore(database)
        keys = KeyStore(database)
        clients = ClientStore(database)
        resumptions = ResumptionStore(database)
        assertions = AssertionStore(database)
        timers = TimerStore(database)
        handlers = HandlerStore(database)
        requests = BackgroundTaskRequestStore(database)
        runs = RunStore(database)
        sessions = SessionStore(database)
        tasks = TaskStore(database)
        taskLists = TaskListStore(database)
        control = ControlStore(database)
        retries = RetryStore(database)
        stagedBodies = StagedBodyStore(database)
        removals = RemovalStore(database)
        cancellations = CancellationStore(database)
        bulkOperations = BulkOperationStore(database)
        questions = QuestionStore(database)
        answers = AnswerStore(database)
        submissions = SubmissionStore(database)
        idempotency = IdempotencyStore(database)
        credentials = CredentialStore(database)
        events = EventStore(database)
        subscriptions = SubscriptionStore(database)
        deliveries = DeliveryStore(database)
        deliveryLog = DeliveryLogStore(database)
        wakeUps = WakeUpStore(database)
        queue = QueueStore(database)
        completions = CompletionStore(database)
        parts = PartStore(database)
        uploadResources = UploadResourceStore(database)
        copies = CopyStore(database)
        mirrors = MirrorStore(database)
        workers = WorkerStore(database)
        fleet = FleetStore(database)
        hosts = HostStore(database)
        retention = RetentionStore(database)
        erasure = ErasureStore(database)
        partitions = PartitionStore(database)
        verification = VerificationStore(database)
        counts = CountStore(database)
        audit = AuditStore(database)
        ownerRemovals = OwnerRemovalStore(database)
        testHooks = TestHookStore(database)
    }
}
