import Glibc
import Logging
import NIOCore

/// A handler of the listening channel that keeps it open when a connection cannot be accepted.
///
/// Without it, the server would stop listening at the first `EMFILE` (accept(2)). The connection
/// stays in the kernel's queue and is accepted after a pause.
final class AcceptPause: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = Never

    /// The time to the next try; without it, the loop would spin as long as descriptors lack.
    private static let pause = TimeAmount.milliseconds(50)
    /// The lack of descriptors, in the process or the system, and of memory.
    private static let shortages: Set<CInt> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

    private let logger: Logger
    private var isPaused = false
    private var isReadHeld = false
    /// Whether the current shortage has been logged.
    private var isLogged = false

    init(logger: Logger) { self.logger = logger }

    func read(context: ChannelHandlerContext) {
        if isPaused { isReadHeld = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isLogged = false
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError else { return context.fireErrorCaught(error) }
        // The client has gone before its connection was accepted.
        if error.errnoCode == ECONNABORTED { return }
        guard Self.shortages.contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        if !isLogged {
            isLogged = true
            logger.warning("connections not accepted", metadata: ["error": "\(error)"])
        }
        guard !isPaused else { return }
        isPaused = true
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            self.isPaused = false
            guard self.isReadHeld else { return }
            self.isReadHeld = false
            context.read()
        }
    }
}
