package import TransferMetrics

/// The requests that this instance has answered, for those who watch it.
package final class RequestCounters: Sendable {
    /// What is counted together.
    package struct Label: Hashable, Sendable {
        /// A method that some route has, or `other`.
        package let method: String
        /// The path of the route with the names of its parameters, or `none`.
        package let route: String
        package let status: Int
    }

    /// Methods of routes; a client may send any other.
    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    /// The requests that were answered.
    package let answers = Counters<Label>()
    /// The time that each took.
    package let durations = DurationHistogram()

    package init() {}

    func count(method: String, route: String?, status: Int, after duration: Duration, waits: Bool) {
        answers.add(
            to: Label(
                method: Self.methods.contains(method) ? method : "other",
                route: route ?? "none",
                status: status
            )
        )
        if !waits { durations.observe(duration) }
    }
}
