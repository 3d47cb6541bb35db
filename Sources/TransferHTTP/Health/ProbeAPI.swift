package import Hummingbird
package import Logging

/// The health routes alone, for an instance that does not answer clients, or not yet.
///
/// Systems that watch containers need a port.
package struct ProbeAPI: Sendable {
    private let health: HealthSource
    private let logger: Logger
    private let handover: APIHandover?
    private let connections: ConnectionRegistry
    private let counters: RequestCounters

    /// Creates the routes.
    ///
    /// - Parameters:
    ///   - health: what the routes answer.
    ///   - handover: leads to the API once it has started; nil for an instance without it.
    ///   - connections: those of the server, which the API is given too.
    ///   - counters: count the requests; the API is given them too.
    ///   - logger: gets a line for each request.
    package init(
        health: HealthSource,
        handover: APIHandover? = nil,
        connections: ConnectionRegistry = ConnectionRegistry(),
        counters: RequestCounters = RequestCounters(),
        logger: Logger
    ) {
        self.health = health
        self.handover = handover
        self.connections = connections
        self.counters = counters
        self.logger = logger
    }

    /// Returns a server for the routes, to be run as a service.
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
        let router = APIRouter()
        ProbeRoutes(health: health, openAPIDocument: nil).add(to: router)
        return APIResponder(
            routes: router.buildResponder(),
            table: RouteTable(router.routes),
            authenticator: nil,
            resources: SharedResources(bodyBytesMax: 0),
            connections: connections,
            counters: counters,
            logger: logger,
            refusals: RefusalLog(logger),
            serverErrors: ServerErrorLog(logger),
            handover: handover
        ).application(
            host: host,
            port: port,
            certificate: certificate,
            onServerRunning: onServerRunning
        )
    }
}
