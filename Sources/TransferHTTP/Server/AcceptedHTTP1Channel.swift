import Glibc
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypesHTTP1

/// HTTP/1.1 on accepted connections.
struct AcceptedHTTP1Channel: ServerChildChannel {
    /// The bytes that the kernel takes for a connection before the client takes any: more would
    /// only stay there, and also count as memory of the service.
    private static let unsentBytesMax: SocketOptionValue = 64 * 1024

    let http1: HTTP1Channel
    let connections: ConnectionRegistry
    let loops: RequestLoops
    /// Encrypts the connections; nil for plain HTTP.
    let certificate: ServerCertificate?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        http1.setup(channel: channel, logger: logger).flatMapThrowing { connection in
            let pipeline = channel.pipeline.syncOperations
            let requests = try pipeline.handler(type: RequestGate.self)
            try pipeline.addHandler(
                ConnectionGate(registry: connections, requests: requests),
                position: .first
            )
            try pipeline.addHandler(
                HeadGuard(),
                position: .before(try pipeline.handler(type: HTTP1ToHTTPServerCodec.self))
            )
            if let certificate {
                // In front of the gate, which times the handshake as part of the first head.
                try pipeline.addHandler(certificate.handler(), position: .first)
            }
            if let options = channel.syncOptions {
                try options.setOption(.maxMessagesPerRead, value: 1)
                try options.setOption(
                    .recvAllocator,
                    value: AdaptiveRecvByteBufferAllocator(
                        minimum: 1024,
                        initial: 2048,
                        maximum: ConnectionGate.readBytesMax
                    )
                )
                try options.setOption(.unsentBytesMax, value: Self.unsentBytesMax)
            }
            return AcceptedConnection(connection)
        }
    }

    func handle(value: AcceptedConnection, logger: Logger) async {
        guard let connection = value.take() else { return }
        let channel = connection.channel
        let turn = ConnectionTurn(
            of: PeerAddress(channel.remoteAddress),
            in: loops.turns(on: channel.eventLoop)
        )
        await turn.run {
            await http1.handle(value: connection, logger: logger)
        }
    }
}
