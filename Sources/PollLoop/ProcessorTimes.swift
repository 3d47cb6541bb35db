import Foundation

/// How long this machine's processors have been idle, and how long they have been there, in the
/// kernel's ticks; only differences mean something.
///
/// Source: [proc_stat(5)](https://man7.org/linux/man-pages/man5/proc_stat.5.html).
package struct ProcessorTimes: Equatable, Sendable {
    package let idle: Int
    package let all: Int

    /// The times in the first line.
    ///
    /// They are user, nice, system, idle, iowait, irq, softirq and steal; what follows is part of
    /// user and nice.
    private static let fields = 8
    private static let idleFields = 3...4

    package init(idle: Int, all: Int) {
        self.idle = idle
        self.all = all
    }

    /// Reads the times; nil where the kernel does not tell them.
    package static func now() -> ProcessorTimes? {
        (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)).flatMap(ProcessorTimes.init)
    }

    package init?(_ text: String) {
        let line = text.prefix { $0 != "\n" }.split(separator: " ")
        let times = line.dropFirst().prefix(Self.fields).compactMap { Int($0) }
        guard line.first == "cpu", times.count == Self.fields else { return nil }
        idle = times[Self.idleFields].reduce(0, +)
        all = times.reduce(0, +)
    }

    /// Returns the share of the time since `earlier` in which the processors were idle, from 0 to
    /// 1; nil if no tick has passed.
    package func idleShare(since earlier: ProcessorTimes) -> Double? {
        let passed = all - earlier.all
        // A processor that comes or goes moves the sums.
        guard passed > 0, idle >= earlier.idle else { return nil }
        return min(1, Double(idle - earlier.idle) / Double(passed))
    }
}
