import Foundation
import Testing

@testable import PollLoop

@Suite struct MemoryTests {
    @Test func theFilesAreThoseOfTheProcessAndOfTheGroupsAroundIt() {
        #expect(
            ControlGroup.memoryFiles(
                membership: "0::/system.slice/transferd.service\n",
                mounts: "35 24 0:30 / /sys/fs/cgroup ro - cgroup2 cgroup rw,nsdelegate\n"
            ) == [
                "/sys/fs/cgroup/system.slice/transferd.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max", "/sys/fs/cgroup/memory.max",
            ]
        )
    }

    @Test func version1HasAHierarchyForMemory() {
        let files = ControlGroup.memoryFiles(
            membership: "9:cpu:/\n4:memory:/docker/0a1b/inner\n0::/\n",
            mounts: "32 31 0:29 / /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
                + "35 31 0:32 /docker/0a1b /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
                + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        )
        #expect(
            files == [
                "/sys/fs/cgroup/memory/inner/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            ]
        )
        // Of a hierarchy that is mounted nowhere, nothing is known.
        #expect(ControlGroup.memoryFiles(membership: "4:memory:/\n0::/\n", mounts: "").isEmpty)
        #expect(ControlGroup.memoryFiles(membership: "", mounts: "").isEmpty)
    }

    @Test func limitsAreThoseOfTheKernel() {
        #expect(ControlGroup.memoryLimit("268435456\n") == 256 << 20)
        for text in ["max\n", "", "0\n", "-1\n", "a", "9223372036854775808"] {
            #expect(ControlGroup.memoryLimit(text) == nil, "\(text)")
        }
    }

    @Test func theTightestLimitIsTheMemory() {
        let machine: Int64 = 8 << 30
        #expect(Memory.bytes(of: machine, limits: []) == machine)
        #expect(Memory.bytes(of: machine, limits: [9_223_372_036_854_771_712]) == machine)
        #expect(Memory.bytes(of: machine, limits: [512 << 20, 256 << 20, 1 << 30]) == 256 << 20)
        #expect(Memory.bytes > 0)
        #expect(Memory.bytes <= Int64(ProcessInfo.processInfo.physicalMemory))
    }
}
