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
    let http1: HTTP1Channel

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        http1.setup(channel: channel, logger: logger).map { AcceptedConnection($0) }
    }

    func handle(value: AcceptedConnection, logger: Logger) async {
        guard let connection = value.take() else { return }
        await http1.handle(value: connection, logger: logger)
    }
}
