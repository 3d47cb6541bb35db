import ChildProcess
import Testing
import TransferTestSupport

@testable import PollLoop

@Suite struct ControlGroupTests {
    private static func groups(_ paths: [String]) -> [ControlGroup] {
        paths.map { ControlGroup(files: .version2($0)) }
    }

    private static let version2 =
        "35 24 0:30 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate"

    @Test func groupsAreThoseOfTheProcessAndThoseAroundIt() {
        let found = ControlGroup.groups(
            membership: "0::/system.slice/transferd.service\n",
            mounts: "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\(Self.version2)\n"
        )
        let root = "/sys/fs/cgroup"
        #expect(
            found
                == Self.groups([
                    "\(root)/system.slice/transferd.service", "\(root)/system.slice", root,
                ])
        )
    }

    @Test func aContainerSeesItsOwnGroupAtTheRoot() {
        let found = ControlGroup.groups(membership: "0::/\n", mounts: Self.version2)
        #expect(found == Self.groups(["/sys/fs/cgroup"]))
        // Without a namespace, the path is the machine's, and what is mounted may be elsewhere.
        for root in ["/docker/0a1b", "/../../other"] {
            let mounts =
                "643 640 0:30 \(root) /sys/fs/cgroup ro,relatime master:9 - cgroup2 cgroup rw"
            let found = ControlGroup.groups(membership: "0::/docker/0a1b\n", mounts: mounts)
            #expect(found == Self.groups(["/sys/fs/cgroup"]), "\(root)")
        }
    }

    @Test func version1HasAHierarchyForEachController() {
        let membership = """
            12:cpuset:/docker/0a1b
            4:cpu,cpuacct:/docker/0a1b/inner
            1:name=systemd:/docker/0a1b
            0::/system.slice/containerd.service
            """
        let both = "/docker/0a1b /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 - cgroup"
        #expect(
            ControlGroup.groups(
                membership: membership,
                mounts: "702 690 0:27 / /sys/fs/cgroup/unified ro - cgroup2 cgroup rw\n"
                    + "703 690 0:28 /docker/0a1b /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"
                    + "704 690 0:29 \(both) cgroup rw,cpu,cpuacct\n"
            )
                == ["/sys/fs/cgroup/cpu,cpuacct/inner", "/sys/fs/cgroup/cpu,cpuacct"].map {
                    ControlGroup(files: .version1(limit: $0, usage: $0))
                }
        )
        #expect(
            ControlGroup.groups(
                membership: "2:cpuacct:/\n1:cpu:/\n0::/\n",
                mounts: "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
                    + "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
            ) == [
                ControlGroup(
                    files: .version1(limit: "/sys/fs/cgroup/cpu", usage: "/sys/fs/cgroup/cpuacct")
                )
            ]
        )
    }

    @Test func noGroupIsFoundInOtherTexts() {
        for membership in ["", "0::", "x", "4:cpu:/a", ":::"] {
            #expect(ControlGroup.groups(membership: membership, mounts: "").isEmpty)
            #expect(ControlGroup.groups(membership: membership, mounts: "1 2 3 - x\n-\n").isEmpty)
        }
    }

    @Test func limitsAndUsageAreThoseOfTheKernel() {
        #expect(ControlGroup.limit("50000 100000\n") == 0.5)
        #expect(ControlGroup.limit("-1\n 100000\n") == nil)
        for text in ["max 100000\n", "", "0 100000", "50000", "50000 0", "1 2 3", "a b"] {
            #expect(ControlGroup.limit(text) == nil, "\(text)")
        }
        #expect(
            ControlGroup.used("usage_usec 2500\nuser_usec 1000\nsystem_usec 1500\n")
                == .microseconds(2500)
        )
        #expect(ControlGroup.used("user_usec 1000\n") == nil)
        #expect(ControlGroup.nanoseconds("2500\n") == .nanoseconds(2500))
    }

    @Test func whatIsLeftOfALimitIsIdle() {
        let start = ContinuousClock.now
        func usage(_ limit: Double, _ used: Int, after: Int) -> ControlGroup.Usage {
            ControlGroup.Usage(
                limit: limit,
                used: .milliseconds(used),
                moment: start + .milliseconds(after)
            )
        }
        let earlier = usage(0.5, 1000, after: 0)
        #expect(usage(0.5, 1025, after: 100).idleShare(since: earlier) == 0.5)
        // A period's quota may be used before its time.
        #expect(usage(0.5, 1070, after: 100).idleShare(since: earlier) == 0)
        #expect(usage(0.5, 1000, after: 100).idleShare(since: earlier) == 1)
        #expect(usage(2, 1000, after: 100).idleShare(since: earlier) == nil)
        #expect(earlier.idleShare(since: earlier) == nil)
        #expect(usage(0.5, 10, after: 100).idleShare(since: earlier) == nil)
    }

    @Test func theTightestLimitIsTheNumberOfProcessors() {
        #expect(Processors.count(of: 64, limits: []) == 64)
        #expect(Processors.count(of: 64, limits: [0.5]) == 1)
        #expect(Processors.count(of: 64, limits: [8, 1.5, 32]) == 2)
        #expect(Processors.count(of: 2, limits: [8]) == 2)
        #expect(Processors.count >= 1)
    }

    @Test(.enabled(if: LimitedGroup.canBeMade, "needs a control group that it may divide"))
    func aProcessIsLimitedByItsGroup() async throws {
        let group = try LimitedGroup()
        let process = try ChildProcess("/bin/sh", ["-c", "while :; do :; done"])
        let found: [ControlGroup]
        do {
            defer { process.kill() }
            try group.add(process.pid)
            found = ControlGroup.groups(of: "\(process.pid)")
            #expect(found.count == ControlGroup.own.count + 1)
            let inner = try #require(found.first)
            #expect(inner.limit() == LimitedGroup.limit)
            #expect(found.compactMap { $0.limit() }.min() == LimitedGroup.limit)
            let start = try #require(inner.usage())
            try await eventually("it uses what it may") {
                (inner.usage()?.idleShare(since: start)).map { $0 < 0.4 } ?? false
            }
        }
        _ = await process.status()
        withExtendedLifetime(group) {}
    }
}
