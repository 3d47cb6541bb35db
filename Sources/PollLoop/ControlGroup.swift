import Foundation

/// A control group of Linux, which may limit the processor time of the processes in it and beneath
/// it, as containers and services of systemd do; what they have of memory: ``Memory``.
///
/// Sources: the kernel's documentation of
/// [version 2](https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu), and of version 1 its
/// [limit](https://docs.kernel.org/scheduler/sched-bwc.html) and
/// [accounting](https://docs.kernel.org/admin-guide/cgroup-v1/cpuacct.html).
package struct ControlGroup: Equatable, Sendable {
    /// The processor time of a group that has a limit.
    package struct Usage: Equatable, Sendable {
        /// The processors that the group may use, such as 0.5.
        package let limit: Double
        /// What its processes have used since the group was made.
        package let used: Duration
        /// The moment at which they had used it.
        package let moment: ContinuousClock.Instant

        /// Creates the usage of a group at a moment.
        package init(limit: Double, used: Duration, moment: ContinuousClock.Instant) {
            self.limit = limit
            self.used = used
            self.moment = moment
        }

        /// Returns the share of its limit that the group has left unused since `earlier`, from 0 to
        /// 1; nil if no time has passed or the limit is another one.
        package func idleShare(since earlier: Usage) -> Double? {
            let available = (moment - earlier.moment) * limit
            guard limit == earlier.limit, available > .zero, used >= earlier.used else {
                return nil
            }
            return max(0, 1 - (used - earlier.used) / available)
        }
    }

    /// Where the kernel tells of a group, by the version of its interface.
    package enum Files: Equatable, Sendable {
        /// The folder in the hierarchy of the controller `cpu`, and that in `cpuacct`, which may be
        /// one hierarchy.
        case version1(limit: String, usage: String)
        /// The folder in the one hierarchy.
        case version2(String)
    }

    /// Where the kernel tells of it.
    package let files: Files

    /// Reads the processors that the group may use; nil if it has no limit.
    package func limit() -> Double? {
        switch files {
        case .version1(let folder, _):
            Self.limit(
                (Self.text("\(folder)/cpu.cfs_quota_us") ?? "") + " "
                    + (Self.text("\(folder)/cpu.cfs_period_us") ?? "")
            )
        case .version2(let folder): Self.text("\(folder)/cpu.max").flatMap(Self.limit)
        }
    }

    /// Reads what the group has used; nil if it has no limit.
    package func usage() -> Usage? {
        guard let limit = limit() else { return nil }
        let used: Duration? =
            switch files {
            case .version1(_, let folder):
                Self.text("\(folder)/cpuacct.usage").flatMap(Self.nanoseconds)
            case .version2(let folder): Self.text("\(folder)/cpu.stat").flatMap(Self.used)
            }
        return used.map { Usage(limit: limit, used: $0, moment: .now) }
    }

    /// Returns the limit of a quota and a period in microseconds, as `cpu.max` has them; the quota
    /// is `max` or -1 if there is none.
    static func limit(_ text: String) -> Double? {
        let numbers = text.split(whereSeparator: \.isWhitespace).map { Int($0) }
        guard numbers.count == 2, let quota = numbers[0], let period = numbers[1], quota > 0,
            period > 0
        else { return nil }
        return Double(quota) / Double(period)
    }

    /// Returns the time in a text of `cpu.stat`.
    static func used(_ text: String) -> Duration? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("usage_usec ") }
        return line.flatMap { Int($0.drop { $0 != " " }.dropFirst()) }.map { .microseconds($0) }
    }

    /// Returns the time in a text of `cpuacct.usage`.
    static func nanoseconds(_ text: String) -> Duration? {
        Int(text.trimmingCharacters(in: .whitespacesAndNewlines)).map { .nanoseconds($0) }
    }

    static func text(_ path: String) -> String? {
        try? String(contentsOfFile: path, encoding: .utf8)
    }
}
