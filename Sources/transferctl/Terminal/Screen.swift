import Foundation
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The lines at the bottom of a terminal that are drawn again and again, with others above them.
///
/// They go to the standard error, so that the output stays a program's.
final class Screen: Sendable {
    private let drawn = Mutex<[String]>([])

    /// Takes the terminal; nil when the standard error is none, or one that cannot go up a line.
    init?() {
        guard isatty(STDERR_FILENO) == 1,
            ProcessInfo.processInfo.environment["TERM"] ?? "dumb" != "dumb"
        else { return nil }
    }

    /// The size; 80 by 24 where the terminal does not tell.
    var size: (columns: Int, rows: Int) {
        var window = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 else {
            return (80, 24)
        }
        return (Int(window.ws_col), Int(window.ws_row))
    }

    /// Draws lines, none wider than the terminal, in the place of those before.
    func draw(_ lines: [String]) { replace(lines, above: []) }

    /// Prints a line above the others, which are drawn again later.
    func note(_ line: String) { replace([], above: [line]) }

    /// Removes the lines.
    func clear() { replace([], above: []) }

    private func replace(_ lines: [String], above: [String]) {
        drawn.withLock { drawn in
            guard lines != drawn || !above.isEmpty else { return }
            // Up to the first line, then everything from there on is erased (ECMA-48 CUU, ED).
            let erase = drawn.isEmpty ? "" : "\u{1b}[\(drawn.count)A\r\u{1b}[J"
            let text = erase + (above + lines).map { "\($0)\n" }.joined()
            drawn = lines
            if !text.isEmpty { Output.complain(text, terminator: "") }
        }
    }
}
