import CLinux
import Glibc
import PollLoop

/// A timer that a thread waits for, and that any thread may set.
///
/// timerfd_create(2), on the clock that goes on while the machine is suspended.
final class Alarm: Sendable {
    private let descriptor: Int32

    /// - Throws: ``PollLoopError`` when the process has no descriptor left.
    init() throws(PollLoopError) {
        descriptor = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC))
        guard descriptor >= 0 else {
            throw PollLoopError(operation: "timerfd_create", errno: errno)
        }
    }

    deinit { close(descriptor) }

    /// The time of its clock, in nanoseconds.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * nanoseconds + UInt64(time.tv_nsec)
    }

    /// Returns the time of its clock in `delay`, which may be negative.
    static func time(in delay: Duration) -> UInt64 {
        let (seconds, attoseconds) = delay.components
        guard seconds >= 0, attoseconds >= 0 else { return now }
        // Beyond that, any delay is for ever.
        guard seconds < 1 << 33 else { return .max }
        // Rounded up, so that nothing begins before its time.
        return now + UInt64(seconds) * nanoseconds + UInt64(attoseconds / 1_000_000_000) + 1
    }

    /// Lets ``wait()`` return at `time`, in nanoseconds, and not at a time that was set before.
    func set(to time: UInt64) {
        // Zero would unset it.
        let time = max(time, 1)
        var value = itimerspec()
        value.it_value.tv_sec = time_t(time / Self.nanoseconds)
        value.it_value.tv_nsec = Int(time % Self.nanoseconds)
        timerfd_settime(descriptor, Int32(TFD_TIMER_ABSTIME), &value, nil)
    }

    /// Blocks until the time that was set last, or a signal.
    func wait() {
        var count: UInt64 = 0
        read(descriptor, &count, MemoryLayout<UInt64>.size)
    }

    private static let nanoseconds: UInt64 = 1_000_000_000
}
