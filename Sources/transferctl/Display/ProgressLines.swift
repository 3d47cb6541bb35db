/// The lines that show progress on a terminal of a certain size.
struct ProgressLines {
    /// The most lines of transfers, however high the terminal is.
    static let transfersMax = 12
    /// The width from which bars are long.
    private static let wideColumns = 100
    /// The cells of bytes, rate, time and the usual state, which follow a bar.
    private static let detailCells = 54

    let columns: Int
    let rows: Int

    /// The cells of a bar between its ends.
    private var barCells: Int { columns < Self.wideColumns ? 10 : 20 }

    /// Returns a line for each running transfer as far as there is room, and one for the whole.
    func lines(_ progress: TransferProgress, at time: Double) -> [String] {
        let room = max(0, min(Self.transfersMax, rows - 3))
        let shown = progress.transfers.prefix(room)
        var lines = shown.map { line($0.transfer) }
        let hidden = progress.transfers.count - shown.count
        if hidden > 0 { lines.append("… and \(hidden) more") }
        lines.append(whole(progress, at: time))
        return lines.map { TerminalText.cut($0, to: columns - 1) }
    }

    /// Returns a line for the whole.
    func whole(_ progress: TransferProgress, at time: Double) -> String {
        let count = progress.ended + progress.outstanding
        let fraction = count == 0 ? 1 : Double(progress.ended) / Double(count)
        var parts = [bar(fraction), "\(progress.ended)/\(count)"]
        if progress.failed > 0 { parts.append("\(progress.failed) failed") }
        if progress.cancelled > 0 { parts.append("\(progress.cancelled) cancelled") }
        if progress.rate > 0 { parts.append(Quantity.rate(progress.rate)) }
        if let remaining = progress.timeRemaining(at: time), progress.outstanding > 0 {
            parts.append("ETA \(Quantity.time(remaining))")
        }
        return parts.joined(separator: "  ")
    }

    /// Returns a bar; empty for nil.
    private func bar(_ fraction: Double?) -> String {
        let full = Int((min(max(fraction ?? 0, 0), 1) * Double(barCells)).rounded(.down))
        return "[\(String(repeating: "#", count: full))"
            + "\(String(repeating: "-", count: barCells - full))]"
    }

    private func line(_ transfer: TransferProgress.Transfer) -> String {
        let total = transfer.total.flatMap { $0 > 0 ? $0 : nil }
        let bytes =
            Quantity.bytes(transfer.bytes) + (total.map { "/\(Quantity.bytes($0))" } ?? "")
        let details = [
            bar(total.map { Double(transfer.bytes) / Double($0) }),
            TerminalText.padded(bytes, to: 19),
            TerminalText.padded(transfer.rate.map { Quantity.rate($0) } ?? "", to: 12),
            TerminalText.padded(
                transfer.timeRemaining.map { "ETA \(Quantity.time($0))" } ?? "",
                to: 10
            ),
            transfer.state,
        ].joined(separator: " ")
        let cells = max(8, columns - Self.detailCells - barCells - 2)
        let name = TerminalText.cut(TerminalText.safe(transfer.name), to: cells)
        return "\(TerminalText.padded(name, to: cells)) \(details)"
    }
}
