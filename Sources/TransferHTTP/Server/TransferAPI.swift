package import Hummingbird
package import Logging
import NIOPosix
package import TransferContainer
package import TransferModel
import TransferStore

/// The HTTP API: its routes, and the server that offers them.
package struct TransferAPI: Sendable {
    /// The maximum number of bytes of all header fields of a request.
    package static let headerBytesMax = 32 * 1024
    /// The maximum number of header fields of a request.
    package static let headerCountMax = 100
    /// The number of connections that may wait in the kernel's queue to be accepted.
    package static let backlog = 1024
    /// The default number of bytes of all bodies that are held at once, except those of uploads; a
    /// tenant has half of them.
    package static let bodyBytesMaxDefault = 2 * Request.bodyBytesMax

    private let stores: APIStores
    private let container: Container
    private let uploadBytesMax: Int64
    private let bodyBytesMax: Int
    private let connectionsPerHost: Int
    private let linkBase: String?
    private let egress: EgressPolicy
    private let health: HealthSource
    private let polls: LongPollHub
    private let authenticator: Authenticator
    private let keys: KeyWatch
    private let readers: EventReaderBounds
    let connections: ConnectionRegistry
    private let counters: RequestCounters
    private let tellOfWork: @Sendable (Set<Signal>, Set<HostKey>) -> Void
    private let hasNetwork: @Sendable () -> Bool?
    private let sendTest: @Sendable (SubscriptionID, Endpoint, TenantID) async -> DeliveryAttempt
    private let openAPIDocument: [UInt8]
    private let presence: TenantPresence
    private let page: PageFiles?
    private let audit: AuditTrail?
    private let logger: Logger

    /// Puts the API together; nothing runs yet.
    ///
    /// - Parameters:
    ///   - stores: what the API reads and changes.
    ///   - container: where the files of all tenants are.
    ///   - uploadBytesMax: the most bytes that a client may bring for one upload.
    ///   - bodyBytesMax: the most bytes of other bodies that are held at once, of all requests.
    ///   - connectionsPerHost: the most connections to a host of which nothing else is known.
    ///   - linkBase: the address of this service as its clients know it, without a slash at the
    ///     end; nil makes links relative.
    ///   - egress: decides which addresses subscriptions may name.
    ///   - health: what the health routes answer.
    ///   - polls: where requests wait; a caller that changes something here signals them.
    ///   - readers: how many may wait for events, and how streams behave.
    ///   - connections: those of the server that answers, with their bounds.
    ///   - presence: told which tenants have requests.
    ///   - counters: count the requests.
    ///   - tell: called after a commit with what it may have left to look at, and at which hosts it
    ///     may have left work, as far as known.
    ///   - hasNetwork: whether the network can be reached; nil if this instance does not know.
    ///   - sendTest: sends a test message to the endpoint of a tenant's subscription.
    ///   - openAPIDocument: what `/openapi.yaml` answers.
    ///   - page: the files of the page at `/`; nil for none.
    ///   - audit: records changes and refusals; nil for nobody.
    ///   - logger: gets a line for each request, without queries and keys.
    package init(
        stores: APIStores,
        container: Container,
        uploadBytesMax: Int64,
        bodyBytesMax: Int = TransferAPI.bodyBytesMaxDefault,
        connectionsPerHost: Int,
        linkBase: String?,
        egress: EgressPolicy,
        health: HealthSource,
        polls: LongPollHub,
        readers: EventReaderBounds = EventReaderBounds(),
        connections: ConnectionRegistry = ConnectionRegistry(),
        presence: TenantPresence,
        counters: RequestCounters = RequestCounters(),
        tell: @escaping @Sendable (Set<Signal>, Set<HostKey>) -> Void,
        hasNetwork: @escaping @Sendable () -> Bool? = { true },
        sendTest:
            @escaping @Sendable (SubscriptionID, Endpoint, TenantID) async -> DeliveryAttempt,
        openAPIDocument: [UInt8],
        page: PageFiles? = nil,
        audit: AuditTrail? = nil,
        logger: Logger
    ) {
        self.stores = stores
        self.container = container
        self.uploadBytesMax = uploadBytesMax
        self.bodyBytesMax = bodyBytesMax
        self.connectionsPerHost = connectionsPerHost
        self.linkBase = linkBase
        self.egress = egress
        self.health = health
        self.polls = polls
        authenticator = Authenticator(
            lookUp: { try await stores.keys.apiKey(id: $0) },
            recordUse: { try await stores.keys.recordUse(ofAPIKey: $0) }
        )
        keys = KeyWatch(logger: logger) { try await stores.keys.goodAPIKeys(among: $0) }
        self.readers = readers
        self.connections = connections
        self.presence = presence
        self.counters = counters
        tellOfWork = tell
        self.hasNetwork = hasNetwork
        self.sendTest = sendTest
        self.openAPIDocument = openAPIDocument
        self.page = page
        self.audit = audit
        self.logger = logger
    }

    private var tell: @Sendable (Set<Signal>) -> Void {
        { [tellOfWork] signals in tellOfWork(signals, []) }
    }

    /// Returns all routes, as `openapi.yaml` describes them.
    func router() -> APIRouter {
        let router = APIRouter()
        ClientRoutes(stores: stores, tell: tell).add(to: router)
        AssertionRoutes(stores: stores, tell: tell).add(to: router)
        HandlerRoutes(stores: stores).add(to: router)
        BackgroundTaskRequestRoutes(stores: stores, hasNetwork: hasNetwork, tell: tell)
            .add(to: router)
        RunRoutes(stores: stores, tell: tell).add(to: router)
        BackgroundSettingsRoutes(stores: stores, tell: tell).add(to: router)
        HostRoutes(stores: stores).add(to: router)
        SessionRoutes(
            stores: stores,
            poll: polls.sessions,
            keys: keys,
            slots: ReaderSlots(perTenantMax: readers.max, max: readers.max),
            tell: tell
        ).add(to: router)
        ReconnectRoutes(stores: stores).add(to: router)
        TaskRoutes(
            stores: stores,
            poll: polls.tasks,
            keys: keys,
            slots: ReaderSlots(perTenantMax: readers.max, max: readers.max),
            connectionsPerHost: connectionsPerHost,
            container: container,
            tell: tellOfWork
        ).add(to: router)
        TaskListRoutes(stores: stores).add(to: router)
        EndedTaskRoutes(
            stores: stores,
            container: container,
            tell: tell,
            threads: .singleton
        ).add(to: router)
        BulkOperationRoutes(
            stores: stores,
            container: container,
            tell: tell,
            threads: .singleton
        ).add(to: router)
        AnswerRoutes(stores: stores, tell: tell).add(to: router)
        CredentialRoutes(stores: stores, tell: tell).add(to: router)
        addContent(to: router)
        EventRoutes(
            stores: stores,
            poll: polls.events,
            keys: keys,
            slots: ReaderSlots(perTenantMax: readers.perTenantMax, max: readers.max),
            bounds: readers,
            tell: tell,
            linkBase: linkBase
        ).add(to: router)
        SubscriptionRoutes(stores: stores, egress: egress, tell: tell).add(to: router)
        DeliveryRoutes(stores: stores, sendTest: sendTest, tell: tell).add(to: router)
        TenantRoutes(stores: stores, tell: tell).add(to: router)
        AuthorityRoutes(stores: stores).add(to: router)
        KeyRoutes(stores: stores) { [authenticator, keys] id in
            authenticator.forget(id)
            keys.end(id)
        }.add(to: router)
        ProbeRoutes(health: health, openAPIDocument: openAPIDocument).add(to: router)
        if let page { PageRoutes(files: page).add(to: router) }
        return router
    }

    private func addContent(to router: APIRouter) {
        ContentRoutes(stores: stores, container: container, threads: .singleton).add(to: router)
        BodyRoutes(
            stores: stores,
            container: container,
            staged: StagedBytes(in: container),
            bytesMax: uploadBytesMax,
            tell: tell,
            keys: keys,
            threads: .singleton
        ).add(to: router)
    }

    /// Returns the responder to requests: the routes behind authentication.
    package func responder() -> APIResponder {
        let router = router()
        return APIResponder(
            routes: router.buildResponder(),
            table: RouteTable(router.routes),
            authenticator: authenticator,
            resources: SharedResources(bodyBytesMax: bodyBytesMax, presence: presence),
            connections: connections,
            counters: counters,
            logger: logger,
            refusals: RefusalLog(logger),
            serverErrors: ServerErrorLog(logger),
            audit: audit
        )
    }

    /// Reads which keys were used lately, so that a flood of wrong ones right after the start does
    /// not keep them out.
    package func recallKeys() async throws {
        let keys = try await stores.keys.recentAPIKeys(limit: Authenticator.recalledMax)
        authenticator.recall(keys)
    }

    /// Returns a server for the API, to be run as a service.
    ///
    /// - Parameters:
    ///   - host: the address to listen on.
    ///   - port: 0 lets the system choose.
    ///   - certificate: makes the server speak TLS alone; nil for plain HTTP.
    ///   - onServerRunning: told the port once connections are accepted.
    /// - Returns: a server that does not listen before it is run.
    package func application(
        host: String,
        port: Int,
        certificate: ServerCertificate? = nil,
        onServerRunning: @escaping @Sendable (Int) async -> Void
    ) -> some ApplicationProtocol {
        responder().application(
            host: host,
            port: port,
            certificate: certificate,
            onServerRunning: onServerRunning
        )
    }
}
