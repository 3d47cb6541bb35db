import PollLoop

extension ProcessorUse {
    /// What is known of processors whose kernel tells nothing.
    static let unknown = ProcessorUse(machine: nil, groups: [])
}
