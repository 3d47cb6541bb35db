/// How busy the processors are that this process may use: those of the machine, and its part of
/// them where control groups limit it.
package struct ProcessorUse: Sendable {
    /// The machine's times; nil where the kernel does not tell them.
    package let machine: ProcessorTimes?
    /// What each of the process's groups has used; nil of those without a limit.
    package let groups: [ControlGroup.Usage?]

    package init(machine: ProcessorTimes?, groups: [ControlGroup.Usage?]) {
        self.machine = machine
        self.groups = groups
    }

    /// Reads it, at the cost of a few small files of the kernel.
    package static func now() -> ProcessorUse {
        ProcessorUse(machine: .now(), groups: ControlGroup.own.map { $0.usage() })
    }

    /// Returns the least share of the time since `earlier` in which either was idle, from 0 to 1;
    /// nil if nothing is known.
    package func idleShare(since earlier: ProcessorUse) -> Double? {
        var shares: [Double] = []
        if let machine, let earlier = earlier.machine, let share = machine.idleShare(since: earlier)
        {
            shares.append(share)
        }
        for case (let now?, let earlier?) in zip(groups, earlier.groups) {
            if let share = now.idleShare(since: earlier) { shares.append(share) }
        }
        return shares.min()
    }
}
