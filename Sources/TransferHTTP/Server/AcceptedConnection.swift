import Glibc
import HummingbirdCore
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

extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
    /// Bytes that the kernel takes of what cannot be sent yet; tcp(7) calls it `TCP_NOTSENT_LOWAT`.
    static var unsentBytesMax: Self { .tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT)) }
}
