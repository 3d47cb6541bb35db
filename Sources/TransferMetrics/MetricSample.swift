/// A metric with its values at one time.
package struct MetricSample: Sendable {
    /// The values of a metric.
    enum Values: Sendable {
        /// Numbers with the values of the labels, in the order of their names.
        case numbers([(labels: [String], number: Double)])
        case durations(DurationHistogram.Value)
    }

    let metric: Metric
    let values: Values

    /// Creates a sample of a metric without labels.
    package init(_ metric: Metric, _ number: Double) {
        self.init(metric, [([], number)])
    }

    /// Creates a sample; each of `numbers` has a value for each label of the metric.
    package init(_ metric: Metric, _ numbers: [(labels: [String], number: Double)]) {
        self.metric = metric
        values = .numbers(numbers.sorted { $0.labels.lexicographicallyPrecedes($1.labels) })
    }

    /// Creates a sample of a histogram.
    package init(_ metric: Metric, _ durations: DurationHistogram.Value) {
        self.metric = metric
        values = .durations(durations)
    }
}
