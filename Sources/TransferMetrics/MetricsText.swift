/// Metrics in Prometheus' text form, version 0.0.4.
package enum MetricsText {
    /// The media type of the form.
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns the text of samples, in their order.
    package static func text(_ samples: [MetricSample]) -> String {
        var text = ""
        for sample in samples {
            let metric = sample.metric
            text += "# HELP \(metric.rawValue) \(escaped(metric.help, quote: false))\n"
            text += "# TYPE \(metric.rawValue) \(metric.kind.rawValue)\n"
            switch sample.values {
            case .numbers(let numbers):
                for (labels, number) in numbers {
                    text += metric.rawValue
                    text += labelled(Array(zip(metric.labels, labels)))
                    text += " \(number: number)\n"
                }
            case .durations(let durations): text += buckets(metric.rawValue, durations)
            }
        }
        return text
    }

    private static func buckets(_ name: String, _ durations: DurationHistogram.Value) -> String {
        var text = ""
        var count: Int64 = 0
        for (index, bound) in DurationHistogram.bounds.enumerated() {
            count += durations.counts[index]
            text += "\(name)_bucket{le=\"\(number: bound)\"} \(count)\n"
        }
        count += durations.counts[DurationHistogram.bounds.count]
        text += "\(name)_bucket{le=\"+Inf\"} \(count)\n"
        text += "\(name)_sum \(number: durations.sum)\n"
        text += "\(name)_count \(count)\n"
        return text
    }

    private static func labelled(_ labels: [(name: String, value: String)]) -> String {
        guard !labels.isEmpty else { return "" }
        let pairs = labels.map { "\($0.name)=\"\(escaped($0.value, quote: true))\"" }
        return "{\(pairs.joined(separator: ","))}"
    }

    /// Escapes a help text or, with its quotes, the value of a label.
    private static func escaped(_ text: String, quote: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quote: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension String.StringInterpolation {
    /// Appends a number as Prometheus reads it.
    fileprivate mutating func appendInterpolation(number: Double) {
        if number.isNaN {
            appendLiteral("NaN")
        } else if number.isInfinite {
            appendLiteral(number < 0 ? "-Inf" : "+Inf")
        } else if let whole = Int64(exactly: number) {
            appendLiteral(String(whole))
        } else {
            appendLiteral("\(number)")
        }
    }
}
