package import PollLoop
// The executors of a program are not yet a public part of Swift (docs/decisions/0080).
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

/// The threads that run all Swift tasks of the process which are confined to no executor.
///
/// Those of Swift's runtime are libdispatch's, and libdispatch ends the process when it lacks a
/// descriptor for a look at one of them.
package enum TaskThreads {
    /// Starts the threads, and puts them in the place of the runtime's for the rest of the
    /// process's life.
    ///
    /// Call it first of all, and once.
    ///
    /// - Throws: ``PollLoopError`` when the process has no descriptor or thread left.
    package static func takeOver() throws(PollLoopError) {
        _ = try Executors.tasks.get()
        _createExecutors(factory: Executors.self)
    }
}

/// What Swift's runtime asks for its executors.
private enum Executors: ExecutorFactory {
    /// As many threads as processors, but two at least, so that one job that blocks does not hold
    /// up all others.
    static let tasks = Result { () throws(PollLoopError) in
        try TaskThreadExecutor(count: max(2, Processors.count))
    }

    static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }

    static var defaultExecutor: any TaskExecutor {
        (try? tasks.get()) ?? PlatformExecutorFactory.defaultExecutor
    }
}

/// Runs jobs of tasks on ``JobThreads``.
private final class TaskThreadExecutor: TaskExecutor, SchedulingExecutor {
    private let threads: JobThreads<UnownedJob>

    init(count: Int) throws(PollLoopError) {
        threads = try JobThreads(count: count) {
            // Two zeros are the executor of whatever is confined to none. If these threads said
            // that they are an executor, a task that asks for none would change over to them again.
            $0.runSynchronously(on: unsafeBitCast((0, 0), to: UnownedSerialExecutor.self))
        }
    }

    func enqueue(_ job: consuming ExecutorJob) { threads.add(UnownedJob(job)) }

    /// Has `job` run after `delay`; with ``SuspendingClock``, too, the time in which the machine is
    /// suspended counts.
    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob,
        after delay: C.Duration,
        tolerance: C.Duration?,
        clock: C
    ) {
        if let delay = delay as? Duration {
            threads.add(UnownedJob(job), at: Alarm.time(in: delay))
        } else if let other = PlatformExecutorFactory.defaultExecutor as? any SchedulingExecutor {
            // Only the runtime can read a clock that does not count in seconds.
            other.enqueue(job, after: delay, tolerance: tolerance, clock: clock)
        } else {
            enqueue(job)
        }
    }
}
