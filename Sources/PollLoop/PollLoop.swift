import CLinux
import Dispatch
import Glibc
import HeapModule
import Synchronization

/// One thread that owns an epoll set, timers and a mailbox, and executes the actors confined to it.
///
/// Work reaches the loop from any thread through ``execute(_:)`` or by calling an actor whose
/// executor this is. Everything marked *on the loop* must be called from the loop's own thread,
/// which is checked. A callback may block (file operations do); it then delays only this loop.
package final class PollLoop: SerialExecutor {
    /// The operations that a descriptor is ready for, or should be watched for.
    package struct Readiness: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Reading will not block; also set when the peer has hung up.
        package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
        /// Writing will not block.
        package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
        /// The descriptor has an error or was hung up; always reported, never requested.
        package static let failed = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
    }

    /// The identity of a scheduled timer.
    package struct Timer: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private struct Mailbox: ~Copyable {
        var work: [Work] = []
        var isAwake = false
        var isStopping = false
    }

    private let mailbox = Mutex(Mailbox())
    private let epoll: Int32
    private let wakeup: Int32
    /// The loop's thread, which writes it before `init` returns; afterwards it is only read.
    nonisolated(unsafe) private var thread = pthread_self()
    /// The state used only by the loop's thread, which every access checks.
    nonisolated(unsafe) private var confined = Confined()

    /// Starts the thread.
    ///
    /// - Parameter name: the thread's name in tools such as `top -H`; Linux keeps 15 bytes.
    /// - Throws: ``PollLoopError`` when the process has no descriptor or thread left.
    package init(name: String) throws(PollLoopError) {
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw PollLoopError(operation: "epoll_create1", errno: errno) }
        let wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeup >= 0 else {
            let code = errno
            close(epoll)
            throw PollLoopError(operation: "eventfd", errno: code)
        }
        // From here on the object is complete, so that `deinit` closes both when a step fails.
        self.epoll = epoll
        self.wakeup = wakeup
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: 0))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup, &event) == 0 else {
            throw PollLoopError(operation: "epoll_ctl", errno: errno)
        }
        try start(name: name)
    }

    /// Closes the descriptors, after the thread has ended.
    ///
    /// The thread holds the loop until then, so a late ``stop()`` never writes to a number that has
    /// been given to another user.
    deinit {
        close(epoll)
        close(wakeup)
    }

    /// Whether the calling thread is the loop's.
    package var isOnLoop: Bool { pthread_equal(thread, pthread_self()) != 0 }

    /// Runs `work` on the loop, in the order of the calls from one thread.
    package func execute(_ work: @escaping @Sendable () -> Void) {
        post(.closure(work))
    }

    /// Runs a job of an actor confined to this loop.
    package func enqueue(_ job: consuming ExecutorJob) {
        post(.job(UnownedJob(job)))
    }

    /// Stops the process unless the calling thread is the loop's.
    package func checkIsolated() {
        precondition(isOnLoop, "this code must run on its event loop's thread")
    }

    package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    /// Ends the thread after the work posted before this call; later work is dropped.
    ///
    /// Descriptors that are still registered stay open: they belong to their owners.
    package func stop() {
        mailbox.withLock { $0.isStopping = true }
        wake()
    }

    /// Watches `descriptor`; a second call for the same one changes its interest and handler.
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor that the caller keeps owning.
    ///   - interest: what to watch for; hang-ups and errors are always told.
    ///   - handler: called on the loop with what is ready, until ``deregister(_:)``.
    /// - Throws: ``PollLoopError`` when the descriptor cannot be watched.
    package func register(
        _ descriptor: Int32,
        for interest: Readiness,
        handler: @escaping (Readiness) -> Void
    ) throws(PollLoopError) {
        checkIsolated()
        let isNew = confined.watched[descriptor] == nil
        // The generation keeps an event of a closed descriptor from reaching its successor. A busy
        // loop wraps it around within hours; zero is the mailbox's.
        confined.generation = confined.generation == .max ? 1 : confined.generation + 1
        let watch = Watch(generation: confined.generation, handler: handler)
        confined.watched[descriptor] = watch
        try control(
            isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
            descriptor,
            interest,
            generation: watch.generation
        )
    }

    /// Stops watching `descriptor`, which may already be closed.
    package func deregister(_ descriptor: Int32) {
        checkIsolated()
        guard confined.watched.removeValue(forKey: descriptor) != nil else { return }
        // A descriptor that was closed first has already left the set: EBADF or ENOENT.
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
    }

    /// Calls `body` on the loop once `delay` has passed on the monotonic clock.
    ///
    /// A negative delay counts as none, so that a body that schedules itself each time keeps
    /// nothing else from the loop.
    @discardableResult
    package func schedule(after delay: Duration, _ body: @escaping () -> Void) -> Timer {
        checkIsolated()
        confined.timerCount &+= 1
        let timer = Timer(number: confined.timerCount)
        confined.timerBodies[timer] = body
        confined.deadlines.insert(
            Deadline(instant: ContinuousClock.now.advanced(by: max(delay, .zero)), timer: timer)
        )
        return timer
    }

    /// Cancels `timer`, which may already have fired.
    package func cancel(_ timer: Timer) {
        checkIsolated()
        guard confined.timerBodies.removeValue(forKey: timer) != nil else { return }
        // Otherwise distant deadlines of cancelled timers would pile up until their time comes.
        let live = confined.timerBodies.count
        guard confined.deadlines.count > 2 * live + Self.deadlinesSlack else { return }
        let bodies = confined.timerBodies
        confined.deadlines.removeAll { bodies[$0.timer] == nil }
    }

    /// The number of cancelled deadlines that may stay before they are removed.
    private static let deadlinesSlack = 64
}

extension PollLoop {
    private struct Watch {
        let generation: UInt32
        let handler: (Readiness) -> Void
    }

    fileprivate struct Deadline: Comparable {
        let instant: ContinuousClock.Instant
        let timer: Timer

        static func < (left: Deadline, right: Deadline) -> Bool {
            (left.instant, left.timer.number) < (right.instant, right.timer.number)
        }
    }

    private struct Confined {
        var watched: [Int32: Watch] = [:]
        var generation: UInt32 = 0
        var deadlines = Heap<Deadline>()
        var timerBodies: [Timer: () -> Void] = [:]
        var timerCount: UInt64 = 0
    }

    private func start(name: String) throws(PollLoopError) {
        let started = DispatchSemaphore(value: 0)
        let box = Unmanaged.passRetained(ThreadStart(loop: self, name: name, started: started))
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, runThread, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw PollLoopError(operation: "pthread_create", errno: code)
        }
        pthread_detach(thread)
        started.wait()
    }

    fileprivate func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while performPosted() {
            dispatchReady(&events)
            runDueTimers()
        }
    }

    /// Performs what was posted, none of which it holds any longer when it returns: the loop may
    /// wait without end then, and a closure may hold an open file.
    ///
    /// - Returns: whether there is to be another round.
    private func performPosted() -> Bool {
        let batch = mailbox.withLock { mailbox in
            mailbox.isAwake = true
            return (work: exchange(&mailbox.work, with: []), isStopping: mailbox.isStopping)
        }
        for work in batch.work { perform(work) }
        return !batch.isStopping
    }

    /// The maximum number of rounds of events before timers have their turn.
    private static let roundsMax = 16

    /// Reports everything that is ready, before any timer fires.
    ///
    /// After a time in which nothing ran, such as a stop of the process, data that has arrived must
    /// be seen before a timer reports it missing.
    private func dispatchReady(_ events: inout [epoll_event]) {
        var timeout = waitMilliseconds()
        for _ in 0..<Self.roundsMax {
            let count = epoll_wait(epoll, &events, Int32(events.count), timeout)
            // The end of a stop interrupts the wait (signal(7)), and nothing was checked.
            let isInterrupted = count < 0 && errno == EINTR
            for index in 0..<max(0, Int(count)) { dispatch(events[index]) }
            guard isInterrupted || Int(count) == events.count else { return }
            timeout = 0
        }
    }

    private func perform(_ work: Work) {
        switch work {
        case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        case .closure(let closure): closure()
        }
    }

    private func dispatch(_ event: epoll_event) {
        let descriptor = Int32(truncatingIfNeeded: event.data.u64 & 0xFFFF_FFFF)
        let generation = UInt32(truncatingIfNeeded: event.data.u64 >> 32)
        if generation == 0 {
            var count: UInt64 = 0
            read(wakeup, &count, MemoryLayout<UInt64>.size)
            return
        }
        guard let watch = confined.watched[descriptor], watch.generation == generation else {
            return
        }
        watch.handler(Readiness(rawValue: event.events))
    }

    private func runDueTimers() {
        let now = ContinuousClock.now
        while let next = confined.deadlines.min, next.instant <= now {
            _ = confined.deadlines.popMin()
            confined.timerBodies.removeValue(forKey: next.timer)?()
        }
    }

    /// Returns the timeout for epoll: 0 with work at hand, -1 (unlimited) with nothing to wait for.
    private func waitMilliseconds() -> Int32 {
        let hasWork = mailbox.withLock { mailbox in
            mailbox.isAwake = !mailbox.work.isEmpty || mailbox.isStopping
            return mailbox.isAwake
        }
        if hasWork { return 0 }
        while let next = confined.deadlines.min, confined.timerBodies[next.timer] == nil {
            _ = confined.deadlines.popMin()
        }
        guard let next = confined.deadlines.min else { return -1 }
        let remaining = next.instant - .now
        guard remaining > .zero else { return 0 }
        // Rounded up, so that a timer never wakes the loop just before its time.
        let milliseconds =
            remaining.components.seconds * 1000
            + remaining.components.attoseconds / 1_000_000_000_000_000 + 1
        return Int32(clamping: milliseconds)
    }

    private func post(_ work: Work) {
        let mustWake = mailbox.withLock { mailbox in
            mailbox.work.append(work)
            return !exchange(&mailbox.isAwake, with: true)
        }
        if mustWake { wake() }
    }

    private func wake() {
        var one: UInt64 = 1
        write(wakeup, &one, MemoryLayout<UInt64>.size)
    }

    private func control(
        _ operation: Int32,
        _ descriptor: Int32,
        _ interest: Readiness,
        generation: UInt32
    ) throws(PollLoopError) {
        let data = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
        var event = epoll_event(events: interest.rawValue, data: epoll_data_t(u64: data))
        guard epoll_ctl(epoll, operation, descriptor, &event) != 0 else { return }
        // The number was closed and reused without our being told: add it again.
        if operation == EPOLL_CTL_MOD, errno == ENOENT,
            epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
        {
            return
        }
        let code = errno
        confined.watched[descriptor] = nil
        throw PollLoopError(operation: "epoll_ctl", errno: code)
    }

    fileprivate func confineToCurrentThread(name: String) {
        thread = pthread_self()
        Self.prepareThread(name: name)
    }

    /// Names the calling thread and blocks signals on it.
    static func prepareThread(name: String) {
        clinux_name_thread(String(decoding: name.utf8.prefix(15), as: UTF8.self))
        // Signals belong to the threads that wait for them.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
    }
}

/// The data that a new thread needs; lives until the thread has started.
private final class ThreadStart: Sendable {
    let loop: PollLoop
    let name: String
    let started: DispatchSemaphore

    init(loop: PollLoop, name: String, started: DispatchSemaphore) {
        self.loop = loop
        self.name = name
        self.started = started
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    start.loop.confineToCurrentThread(name: start.name)
    start.started.signal()
    start.loop.run()
    return nil
}

private func exchange<Value>(_ place: inout Value, with value: Value) -> Value {
    let old = place
    place = value
    return old
}
