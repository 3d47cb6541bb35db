extension ControlGroup {
    /// The groups of this process when they were first asked for.
    package static let own = groups(of: "self")

    /// Returns the groups that a process is in, its own first and then those around it, as far as
    /// this one can see them; a container sees none beyond its own.
    ///
    /// `process` is a number or `self`.
    package static func groups(of process: String) -> [ControlGroup] {
        guard let membership = text("/proc/\(process)/cgroup"),
            let mounts = text("/proc/\(process)/mountinfo")
        else { return [] }
        return groups(membership: membership, mounts: mounts)
    }

    /// Returns the groups that texts of `/proc/self/cgroup` and `/proc/self/mountinfo` name.
    static func groups(membership: String, mounts: String) -> [ControlGroup] {
        let hierarchies = Hierarchies(membership: membership, mounts: mounts)
        guard let path = hierarchies.path(of: "cpu") else {
            return hierarchies.foldersOfVersion2.map { ControlGroup(files: .version2($0)) }
        }
        guard let limits = hierarchies.mount(of: "cpu"),
            let usages = hierarchies.mount(of: "cpuacct")
        else { return [] }
        return limits.levels(to: path).map {
            ControlGroup(files: .version1(limit: limits.folder + $0, usage: usages.folder + $0))
        }
    }

    /// The hierarchies of groups, by the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`.
    ///
    /// Sources: [cgroups(7)](https://man7.org/linux/man-pages/man7/cgroups.7.html),
    /// [proc_pid_mountinfo(5)](https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html).
    struct Hierarchies {
        private let memberships: [[Substring]]
        private let mounts: [Mount]

        init(membership: String, mounts: String) {
            memberships = membership.split(separator: "\n").map {
                $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            }.filter { $0.count == 3 }
            self.mounts = mounts.split(separator: "\n").compactMap(Mount.init)
        }

        /// Returns the path of the process's group in the hierarchy of version 1 that has a
        /// controller; nil if the controller is in that of version 2.
        func path(of controller: Substring) -> Substring? {
            memberships.first { $0[1].split(separator: ",").contains(controller) }?[2]
        }

        /// Returns where the hierarchy of version 1 that has a controller is mounted.
        func mount(of controller: Substring) -> Mount? { mounts.first { $0.has(controller) } }

        /// The folders of the process's groups in the hierarchy of version 2, the innermost first.
        var foldersOfVersion2: [String] {
            guard let path = memberships.first(where: { $0[0] == "0" && $0[1].isEmpty })?[2],
                let mount = mounts.first(where: { $0.kind == "cgroup2" })
            else { return [] }
            return mount.levels(to: path).map { mount.folder + $0 }
        }
    }

    /// A mounted file system.
    struct Mount {
        /// What of the file system is mounted.
        private let root: Substring
        let folder: String
        let kind: Substring
        private let options: [Substring]

        init?(_ line: Substring) {
            let fields = line.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count == dash + 4 else {
                return nil
            }
            root = fields[3]
            folder = String(fields[4])
            kind = fields[dash + 1]
            options = fields[dash + 3].split(separator: ",")
        }

        func has(_ controller: Substring) -> Bool {
            kind == "cgroup" && options.contains(controller)
        }

        /// Returns the paths beneath the folder that lead to the group at `path`, the longest
        /// first.
        ///
        /// Without a namespace of control groups, a container is told the path from the machine's
        /// root and has its own group mounted.
        func levels(to path: Substring) -> [String] {
            let above = root.split(separator: "/")
            var names = path.split(separator: "/")
            guard names.starts(with: above) else { return [""] }
            names.removeFirst(above.count)
            return (0...names.count).reversed().map { count in
                names.prefix(count).map { "/\($0)" }.joined()
            }
        }
    }
}
