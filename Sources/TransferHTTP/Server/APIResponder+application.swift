import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

extension APIResponder {
    /// Returns the server that all instances have, with the bounds of ``TransferAPI``.
    func application(
        host: String,
        port: Int,
        certificate: ServerCertificate? = nil,
        onServerRunning: @escaping @Sendable (Int) async -> Void
    ) -> some ApplicationProtocol {
        Application(
            responder: self,
            server: HTTPServerBuilder { respond in
                AcceptedHTTP1Channel(
                    http1: HTTP1Channel(
                        responder: respond,
                        configuration: HTTP1Channel.Configuration(
                            additionalChannelHandlers: [RequestGate(), ContinueHandler()],
                            httpDecoderConfiguration: .init(
                                maxHeaderFieldSize: TransferAPI.headerBytesMax,
                                maxHeaderListSize: TransferAPI.headerBytesMax,
                                maxHeaderFieldCount: TransferAPI.headerCountMax
                            )
                        )
                    ),
                    connections: connections,
                    loops: resources.requestLoops,
                    certificate: certificate
                )
            },
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                backlog: TransferAPI.backlog,
                // This limit is never reached: connections beyond the bounds are closed rather than
                // left in the kernel's queue, where a probe could not learn whether the service is
                // alive.
                availableConnectionsDelegate: MaximumAvailableConnections(
                    2 * (connections.bounds.max + connections.bounds.reserve),
                    logger: logger
                )
            ),
            onServerRunning: { channel in
                do {
                    try await channel.eventLoop.submit {
                        try channel.pipeline.syncOperations.addHandler(
                            AcceptPause(logger: self.logger),
                            position: .first
                        )
                    }.get()
                } catch {
                    // The server is stopping.
                    logger.debug(
                        "server stopped before it listened",
                        metadata: ["error": "\(error)"]
                    )
                }
                await onServerRunning(channel.localAddress?.port ?? port)
            },
            logger: logger
        )
    }
}
