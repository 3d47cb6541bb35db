/// Whether an instance offers its metrics.
enum MetricsMode: String, CaseIterable {
    case on
    /// Not at all: `/metrics` is a path that does not exist.
    case off
}
