import Foundation
import Glibc
import Synchronization

/// Writes what happens: lines, and on a terminal one last line that is drawn anew.
final class Screen: Sendable {
    /// Between two progress lines where they cannot be redrawn.
    private static let plainInterval: Duration = .seconds(1)
    private static let eraseLine = "\r\u{1B}[K"

    private struct State {
        var hasProgress = false
        var lastPlain: ContinuousClock.Instant?
    }

    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private let state = Mutex(State())

    func show(_ text: String) {
        state.withLock { state in
            let front = state.hasProgress ? Self.eraseLine : ""
            state.hasProgress = false
            write("\(front)\(text)\n")
        }
    }

    /// Shows how far it is; the next text takes its place.
    func showProgress(_ text: String) {
        state.withLock { state in
            if isTerminal {
                state.hasProgress = true
                write(Self.eraseLine + text)
            } else if state.lastPlain.map({ .now - $0 >= Self.plainInterval }) ?? true {
                state.lastPlain = .now
                write("\(text)\n")
            }
        }
    }

    /// A reader that went away is no reason to leave the service running.
    private func write(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}
