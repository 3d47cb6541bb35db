import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

extension APIResponder {
    /// The server that all instances have, with the bounds of ``TransferAPI``.
    func application(
        host: String,
        port: Int,
        onServerRunning: @escaping @Sendable (Int) async -> Void
    ) -> some ApplicationProtocol {
        Application(
            responder: self,
            server: HTTPServerBuilder { respond in
                AcceptedHTTP1Channel(
                    http1: HTTP1Channel(
                        responder: respond,
                        configuration: HTTP1Channel.Configuration(
                            additionalChannelHandlers: [ContinueHandler()],
                            idleTimeout: TransferAPI.idleTimeout,
                            httpDecoderConfiguration: .init(
                                maxHeaderFieldSize: TransferAPI.headerBytesMax,
                                maxHeaderListSize: TransferAPI.headerBytesMax,
                                maxHeaderFieldCount: TransferAPI.headerCountMax
                            )
                        )
                    )
                )
            },
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                backlog: TransferAPI.backlog,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    TransferAPI.connectionsMax,
                    logger: logger
                )
            ),
            onServerRunning: { channel in
                await onServerRunning(channel.localAddress?.port ?? port)
            },
            logger: logger
        )
    }
}
