import Glibc
import HummingbirdCore
import NIOCore
import Synchronization

/// A connection that has been accepted but is not served yet.
///
/// A server that is cancelled in between drops the connection, and SwiftNIO stops the process when
/// a writer is dropped (apple/swift-nio issue 3481). This connection closes itself instead.
final class AcceptedConnection: ServerChildChannelValue {
    let channel: any Channel
    private let unserved: Mutex<HTTP1Channel.Value?>

    init(_ connection: HTTP1Channel.Value) {
        channel = connection.channel
        unserved = Mutex(connection)
    }

    /// Returns the connection to the caller that serves it.
    func take() -> HTTP1Channel.Value? {
        unserved.withLock { $0.take() }
    }

    deinit {
        guard let connection = take() else { return }
        // An error here comes from a connection that has already ended.
        Task { try? await connection.executeThenClose { _, _ in } }
    }
}

extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
    /// The socket option for the bytes that the kernel takes while they cannot be sent yet, called
    /// `TCP_NOTSENT_LOWAT` in tcp(7).
    static var unsentBytesMax: Self { .tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT)) }
}
