import Foundation

/// The memory that this process may use, with those in its container or service.
package enum Memory {
    /// Its bytes when they were first asked for: those of the machine, or the tightest limit of a
    /// ``ControlGroup``.
    package static let bytes = bytes(
        of: Int64(clamping: ProcessInfo.processInfo.physicalMemory),
        limits: ControlGroup.memoryLimits()
    )

    static func bytes(of machine: Int64, limits: [Int64]) -> Int64 {
        min(machine, limits.min() ?? machine)
    }
}

extension ControlGroup {
    /// Reads the limits of memory, in bytes, of the groups that this process is in.
    ///
    /// Sources: the kernel's documentation of version
    /// [2](https://docs.kernel.org/admin-guide/cgroup-v2.html#memory) and
    /// [1](https://docs.kernel.org/admin-guide/cgroup-v1/memory.html).
    fileprivate static func memoryLimits() -> [Int64] {
        guard let membership = text("/proc/self/cgroup"), let mounts = text("/proc/self/mountinfo")
        else { return [] }
        return memoryFiles(membership: membership, mounts: mounts).compactMap {
            text($0).flatMap(memoryLimit)
        }
    }

    /// Returns the files with the limits of the groups that texts of `/proc/self/cgroup` and
    /// `/proc/self/mountinfo` name, the innermost first.
    static func memoryFiles(membership: String, mounts: String) -> [String] {
        let hierarchies = Hierarchies(membership: membership, mounts: mounts)
        guard let path = hierarchies.path(of: "memory") else {
            return hierarchies.foldersOfVersion2.map { "\($0)/memory.max" }
        }
        guard let mount = hierarchies.mount(of: "memory") else { return [] }
        return mount.levels(to: path).map { "\(mount.folder)\($0)/memory.limit_in_bytes" }
    }

    /// Returns the bytes in a text of such a file, which is `max` in version 2 if there is no
    /// limit, and in version 1 a number that no machine has.
    static func memoryLimit(_ text: String) -> Int64? {
        Int64(text.trimmingCharacters(in: .whitespacesAndNewlines)).flatMap { $0 > 0 ? $0 : nil }
    }
}
