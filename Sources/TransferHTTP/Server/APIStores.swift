package import TransferStore

/// The stores that requests use.
///
/// One reference, because each piece of work copies them.
package final class APIStores: Sendable {
    /// The database of all of them.
    package let database: Database
    package let tenants: TenantStore
    package let keys: KeyStore
    package let clients: ClientStore
    package let assertions: AssertionStore
    package let handlers: HandlerStore
    package let requests: BackgroundTaskRequestStore
    package let runs: RunStore
    package let timers: TimerStore
    package let sessions: SessionStore
    package let tasks: TaskStore
    package let taskLists: TaskListStore
    package let control: ControlStore
    package let retries: RetryStore
    package let stagedBodies: StagedBodyStore
    package let copies: CopyStore
    package let removals: RemovalStore
    package let bulkOperations: BulkOperationStore
    package let questions: QuestionStore
    package let submissions: SubmissionStore
    package let idempotency: IdempotencyStore
    package let credentials: CredentialStore
    package let events: EventStore
    package let subscriptions: SubscriptionStore
    package let deliveryLog: DeliveryLogStore
    package let wakeUps: WakeUpStore
    package let audit: AuditStore
    package let hosts: HostStore
    package let pauses: PauseStore
    package let testHooks: TestHookStore

    package init(_ database: Database) {
        self.database = database
        tenants = TenantStore(database)
        keys = KeyStore(database)
        clients = ClientStore(database)
        assertions = AssertionStore(database)
        handlers = HandlerStore(database)
        requests = BackgroundTaskRequestStore(database)
        runs = RunStore(database)
        timers = TimerStore(database)
        sessions = SessionStore(database)
        tasks = TaskStore(database)
        taskLists = TaskListStore(database)
        control = ControlStore(database)
        retries = RetryStore(database)
        stagedBodies = StagedBodyStore(database)
        copies = CopyStore(database)
        removals = RemovalStore(database)
        bulkOperations = BulkOperationStore(database)
        questions = QuestionStore(database)
        submissions = SubmissionStore(database)
        idempotency = IdempotencyStore(database)
        credentials = CredentialStore(database)
        events = EventStore(database)
        subscriptions = SubscriptionStore(database)
        deliveryLog = DeliveryLogStore(database)
        wakeUps = WakeUpStore(database)
        audit = AuditStore(database)
        hosts = HostStore(database)
        pauses = PauseStore(database)
        testHooks = TestHookStore(database)
    }
}
