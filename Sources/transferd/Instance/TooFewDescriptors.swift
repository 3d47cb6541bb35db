/// The error for a limit of descriptors with which an instance would run no task or answer
/// hardly anybody.
struct TooFewDescriptors: Error, CustomStringConvertible {
    let count: Int
    /// The number with which a task can run and some clients are answered.
    let needed: Int

    var description: String {
        """
        \(count) descriptors are too few to run a task and answer clients, which takes \
        \(needed): raise the hard limit (ulimit -n)
        """
    }
}
