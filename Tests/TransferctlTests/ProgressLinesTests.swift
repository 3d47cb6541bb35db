import Testing

@testable import transferctl

@Suite struct ProgressLinesTests {
    private func progress(_ count: Int) -> TransferProgress {
        var progress = TransferProgress(at: 0)
        progress.add(count)
        for id in 0..<count {
            for time in [0.0, 1] {
                progress.report(
                    "\(id)",
                    name: "http://a/\u{1b}[2J\(id)",
                    state: "running",
                    bytes: Int64(time) * 1024,
                    of: 4096,
                    at: time
                )
            }
        }
        return progress
    }

    @Test func hasALineForATransferAndOneForTheWhole() {
        let lines = ProgressLines(columns: 120, rows: 24).lines(progress(1), at: 1)
        #expect(lines.count == 2)
        #expect(lines[0].contains(#"http://a/\u{1b}[2J0"#))
        #expect(
            lines[0].hasSuffix(
                "[#####---------------] 1.0 KiB/4.0 KiB     1.0 KiB/s    ETA 3s     running"
            ),
            "\(lines[0])"
        )
        #expect(
            ProgressLines(columns: 80, rows: 24).lines(progress(1), at: 1)[0].hasSuffix("running")
        )
        #expect(lines[1] == "[--------------------]  0/1  1.0 KiB/s")
    }

    @Test(arguments: [(120, 24), (80, 10), (20, 4), (1, 1)])
    func fitsIntoTheTerminalHoweverManyTransfersRun(columns: Int, rows: Int) {
        let lines = ProgressLines(columns: columns, rows: rows).lines(progress(300), at: 1)
        #expect(lines.count <= max(2, rows - 1) && lines.count <= ProgressLines.transfersMax + 2)
        #expect(lines.allSatisfy { TerminalText.width($0) < max(columns, 1) })
    }

    @Test func writesNumbersAsPeopleReadThem() {
        let bytes: [(Int64, String)] = [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_048_575, "1.0 MiB"),
            (5 << 30, "5.0 GiB"), (.max, "8.0 EiB"),
        ]
        for (count, text) in bytes { #expect(Quantity.bytes(count) == text) }
        let times: [(Double, String)] = [
            (0.4, "0s"), (59.6, "1m00s"), (65, "1m05s"), (3720, "1h02m"), (90_000, "1d01h"),
            (.infinity, "11574074074d01h"),
        ]
        for (seconds, text) in times { #expect(Quantity.time(seconds) == text) }
    }
}
