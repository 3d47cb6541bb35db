import Glibc
import Logging
import NIOCore

/// A handler of the listening channel that keeps it open when a connection cannot be accepted.
///
/// Without it, the server would stop listening at the first `EMFILE` (accept(2)). The connection
/// stays in the kernel's queue and is accepted after a pause.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    /// The time to the next try; without it, the loop would spin as long as descriptors lack.
    private static let pause = TimeAmount.milliseconds(50)
    /// The minimum time between two lines in the log: descriptors that come back one by one end
    /// the shortage for one connection each.
    private static let logInterval = TimeAmount.seconds(60)
    /// The lack of descriptors, in the process or the system, and of memory.
    private static let shortages: Set<CInt> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

    private let logger: Logger
    private var isPaused = false
    private var loggedAt: NIODeadline?

    init(logger: Logger) { self.logger = logger }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError else { return context.fireErrorCaught(error) }
        // The client has gone before its connection was accepted.
        if error.errnoCode == ECONNABORTED { return }
        guard Self.shortages.contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        log(error, at: context.eventLoop.now)
        guard !isPaused else { return }
        isPaused = true
        // A read that found no connection it could accept is still pending: only this takes the
        // channel from the selector, which would report it again at once.
        let channel = context.channel
        _ = channel.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { [self] in
            isPaused = false
            _ = channel.setOption(.autoRead, value: true)
        }
    }

    private func log(_ error: IOError, at now: NIODeadline) {
        if let loggedAt, now < loggedAt + Self.logInterval { return }
        loggedAt = now
        logger.warning("connections not accepted", metadata: ["error": "\(error)"])
    }
}
