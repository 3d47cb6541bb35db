import Glibc

/// A separate thread for work that blocks and cannot be hurried.
package enum BlockingThread {
    /// Runs `body` on a new thread, which ends with it.
    ///
    /// - Parameters:
    ///   - name: the thread's name in tools such as `top -H`; Linux keeps 15 bytes.
    ///   - body: what blocks; signals are never delivered to its thread.
    /// - Throws: ``PollLoopError`` when the process may have no more threads.
    package static func start(
        name: String,
        _ body: @escaping @Sendable () -> Void
    ) throws(PollLoopError) {
        let box = Unmanaged.passRetained(BlockingWork(name: name, body: body))
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, runBlockingWork, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw PollLoopError(operation: "pthread_create", errno: code)
        }
        pthread_detach(thread)
    }
}

/// The work of a new thread; lives until the thread has started.
private final class BlockingWork: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func runBlockingWork(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let work = Unmanaged<BlockingWork>.fromOpaque(argument).takeRetainedValue()
    PollLoop.prepareThread(name: work.name)
    work.body()
    return nil
}
