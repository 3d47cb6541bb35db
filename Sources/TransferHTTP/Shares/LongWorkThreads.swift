import NIOPosix
import PollLoop

/// The threads for what takes long, such as the JSON of many tasks and its way to the database.
///
/// They give way to all others, so that no other request waits behind it.
final class LongWorkThreads: TaskExecutor {
    private let threads: NIOThreadPool

    init(count: Int) {
        threads = NIOThreadPool(numberOfThreads: count)
        threads.start()
    }

    deinit { threads.shutdownGracefully { _ in } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A job has to run even when the threads are gone.
        threads.submit { [self] _ in
            Priority.lower()
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
