package import Hummingbird
package import Logging

/// The health routes alone, for an instance that does not answer clients: whoever watches
/// containers needs a port.
package struct ProbeAPI: Sendable {
    private let health: HealthSource
    private let logger: Logger

    package init(health: HealthSource, logger: Logger) {
        self.health = health
        self.logger = logger
    }

    /// A server for the routes, to be run as a service.
    ///
    /// - Parameters:
    ///   - host: the address to listen on.
    ///   - port: 0 lets the system choose.
    ///   - onServerRunning: told the port once connections are accepted.
    /// - Returns: a server that does not listen before it is run.
    package func application(
        host: String,
        port: Int,
        onServerRunning: @escaping @Sendable (Int) async -> Void
    ) -> some ApplicationProtocol {
        let router = Router(context: APIContext.self)
        OperationRoutes(health: health, openAPIDocument: nil).add(to: router)
        return APIResponder(
            routes: router.buildResponder(),
            table: RouteTable(router.routes),
            authenticator: nil,
            resources: SharedResources(bodyBytesMax: 0),
            connections: ConnectionRegistry(bounds: ConnectionBounds()),
            logger: logger
        ).application(host: host, port: port, onServerRunning: onServerRunning)
    }
}
