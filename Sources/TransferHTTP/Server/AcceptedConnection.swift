import Glibc
import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// A connection between being accepted and being served.
///
/// A server that is cancelled in between forgets it, and for a writer that is forgotten SwiftNIO
/// stops the process (apple/swift-nio issue 3481). This one closes itself instead.
final class AcceptedConnection: ServerChildChannelValue {
    let channel: any Channel
    private let unserved: Mutex<HTTP1Channel.Value?>

    init(_ connection: HTTP1Channel.Value) {
        channel = connection.channel
        unserved = Mutex(connection)
    }

    /// Gives the connection to the one that serves it.
    func take() -> HTTP1Channel.Value? {
        unserved.withLock { $0.take() }
    }

    deinit {
        guard let connection = take() else { return }
        // What fails here is a connection that has ended already.
        Task { try? await connection.executeThenClose { _, _ in } }
    }
}

/// HTTP/1.1 on accepted connections.
struct AcceptedHTTP1Channel: ServerChildChannel {
    /// Bytes that the kernel takes for a connection before the client takes any: more would only lie
    /// there, and count as memory of the service too.
    private static let unsentBytesMax: SocketOptionValue = 64 * 1024

    let http1: HTTP1Channel
    let connections: ConnectionRegistry

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        http1.setup(channel: channel, logger: logger).flatMapThrowing { connection in
            let pipeline = channel.pipeline.syncOperations
            let requests = try pipeline.handler(type: RequestGate.self)
            try pipeline.addHandler(
                ConnectionGate(registry: connections, requests: requests),
                position: .first
            )
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
        await http1.handle(value: connection, logger: logger)
    }
}

extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
    /// Bytes that the kernel takes of what cannot be sent yet; tcp(7) calls it `TCP_NOTSENT_LOWAT`.
    static var unsentBytesMax: Self { .tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT)) }
}
