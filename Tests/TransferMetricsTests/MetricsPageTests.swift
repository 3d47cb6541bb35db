import Foundation
import Testing
import TransferMetrics
import TransferTestSupport

/// `docs/metrics.md` lists what the service offers.
@Suite struct MetricsPageTests {
    @Test func everyMetricIsListedAsItIsDeclared() throws {
        let page = try String(contentsOfFile: "\(Checkout.root)/docs/metrics.md", encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let expected = Metric.allCases.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.rawValue)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
        }
        #expect(rows.map(String.init) == expected)
    }
}
