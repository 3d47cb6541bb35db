/// Rows in columns, a page at a time; the first page sets the widths.
struct Table {
    /// The widest a column gets; longer texts go over its edge, so that nothing is lost.
    private static let columnCellsMax = 60

    private let titles: [String]
    private var widths: [Int] = []

    /// Names the columns.
    init(_ titles: String...) { self.titles = titles }

    /// Returns the lines of a page, below the titles if it is the first one.
    mutating func lines(_ rows: [[String]]) -> [String] {
        var rows = rows.map { $0.map { TerminalText.safe($0) } }
        if widths.isEmpty {
            rows.insert(titles, at: 0)
            widths = titles.indices.map { column in
                min(Self.columnCellsMax, rows.map { TerminalText.width($0[column]) }.max() ?? 0)
            }
        }
        return rows.map { row in
            var line = zip(row, widths).map { TerminalText.padded($0, to: $1) }
                .joined(separator: "  ")
            // The last column needs no padding.
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
