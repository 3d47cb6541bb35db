import DequeModule
import Dispatch
import PollLoop
import Synchronization

/// Threads that run jobs in the order in which they come, at once or at a given time.
///
/// They open nothing once they run.
final class JobThreads<Job: Sendable>: Sendable {
    private struct Jobs {
        var waiting = Deque<Job>()
        /// The number of threads that wait for a wake-up that nobody has sent yet.
        var idle = 0
    }

    private let jobs = Mutex(Jobs())
    private let wakeups = DispatchSemaphore(value: 0)
    private let deadlines = Mutex(Deadlines<Job>())
    private let alarm: Alarm
    private let perform: @Sendable (Job) -> Void

    /// Starts the threads, which end with the process.
    ///
    /// - Parameters:
    ///   - count: their number, without the one that waits for deadlines.
    ///   - perform: what runs a job; called on these threads only.
    /// - Throws: ``PollLoopError`` when the process has no descriptor or thread left.
    init(
        count: Int,
        perform: @escaping @Sendable (Job) -> Void
    ) throws(PollLoopError) {
        alarm = try Alarm()
        self.perform = perform
        for _ in 0..<count { try BlockingThread.start(name: "tasks") { self.runJobs() } }
        try BlockingThread.start(name: "tasks-later") { self.watchDeadlines() }
    }

    /// Has `job` run once the jobs that wait already have begun.
    func add(_ job: Job) {
        let mustWake = jobs.withLock { jobs in
            jobs.waiting.append(job)
            guard jobs.idle > 0 else { return false }
            jobs.idle -= 1
            return true
        }
        if mustWake { wakeups.signal() }
    }

    /// Has `job` run at `time`, in nanoseconds of CLOCK_BOOTTIME.
    func add(_ job: Job, at time: UInt64) {
        deadlines.withLock { deadlines in
            let isFirst = deadlines.next.map { time < $0 } ?? true
            deadlines.add(job, at: time)
            if isFirst { alarm.set(to: time) }
        }
    }

    private func runJobs() {
        while true {
            let job = jobs.withLock { jobs in
                let job = jobs.waiting.popFirst()
                if job == nil { jobs.idle += 1 }
                return job
            }
            if let job { perform(job) } else { wakeups.wait() }
        }
    }

    private func watchDeadlines() {
        while true {
            alarm.wait()
            let due = deadlines.withLock { deadlines in
                let due = deadlines.removeDue(at: Alarm.now)
                if let next = deadlines.next { alarm.set(to: next) }
                return due
            }
            for job in due { add(job) }
        }
    }
}
