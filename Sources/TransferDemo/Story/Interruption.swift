import Dispatch
import Foundation

/// Ctrl-C and `kill`, in a form that a task can wait for.
enum Interruption {
    /// Waits until the process is told to end.
    ///
    /// - Throws: `CancellationError` when nobody waits any more.
    static func wait() async throws {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        let sources = [SIGINT, SIGTERM].map { number in
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        for await _ in signals { return }
        throw CancellationError()
    }
}
