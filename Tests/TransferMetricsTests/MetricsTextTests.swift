import Testing

@testable import TransferMetrics

/// Prometheus' text form.
@Suite struct MetricsTextTests {
    @Test(
        arguments: [
            (0, "0"), (-3, "-3"), (1.5, "1.5"), (1e15, "1000000000000000"), (.nan, "NaN"),
            (.infinity, "+Inf"), (-.infinity, "-Inf"), (0.0025, "0.0025"),
        ] as [(Double, String)]
    )
    func aNumberIsWrittenAsItIsRead(number: Double, text: String) {
        let lines = MetricsText.text([MetricSample(.uptime, number)]).split(separator: "\n")
        #expect(
            lines == [
                "# HELP transferd_uptime_seconds Time since the instance started.",
                "# TYPE transferd_uptime_seconds gauge", "transferd_uptime_seconds \(text)",
            ]
        )
    }

    @Test func valuesOfLabelsAreEscapedAndSorted() {
        let sample = MetricSample(
            .attempts,
            [(["b", #"a "quoted" \ text"#], 2), (["a", "new\nline"], 1)]
        )
        #expect(
            MetricsText.text([sample]) == #"""
                # HELP transferd_attempts_total \#(Metric.attempts.help)
                # TYPE transferd_attempts_total counter
                transferd_attempts_total{outcome="a",code="new\nline"} 1
                transferd_attempts_total{outcome="b",code="a \"quoted\" \\ text"} 2

                """#
        )
    }

    @Test func aHistogramIsCumulative() {
        let histogram = DurationHistogram()
        for milliseconds in [1, 2, 30, 700_000] { histogram.observe(.milliseconds(milliseconds)) }
        let text = MetricsText.text([MetricSample(.requestDuration, histogram.value)])
        let name = "transferd_http_request_duration_seconds"
        for line in [
            "\(name)_bucket{le=\"0.001\"} 1", "\(name)_bucket{le=\"0.0025\"} 2",
            "\(name)_bucket{le=\"0.025\"} 2", "\(name)_bucket{le=\"0.05\"} 3",
            "\(name)_bucket{le=\"600\"} 3", "\(name)_bucket{le=\"+Inf\"} 4",
            "\(name)_sum 700.033", "\(name)_count 4",
        ] {
            #expect(text.contains("\(line)\n"), "\(line)")
        }
    }

    @Test func countersGrow() async {
        let counters = Counters<String>()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<1000 { counters.add(2, to: "a") } }
            }
        }
        counters.add(to: "b")
        #expect(counters.values == ["a": 16_000, "b": 1])
    }

    @Test func namesFollowTheConventions() {
        for metric in Metric.allCases {
            #expect(metric.rawValue.wholeMatch(of: /(transferd|process)_[a-z_]+/) != nil)
            #expect(metric.rawValue.hasSuffix("_total") == (metric.kind == .counter))
            #expect(metric.help.hasSuffix("."))
            if metric.kind == .histogram { #expect(metric.rawValue.hasSuffix("_seconds")) }
        }
    }
}
