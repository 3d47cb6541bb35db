import Foundation
import Glibc
import Synchronization

/// Writes the events as lines and, on a terminal, one last line that is redrawn.
final class Screen: Sendable {
    /// The pause between two progress lines if they cannot be redrawn.
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

    /// Shows the progress; the next text replaces it.
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

    /// Writes a text; a reader that has gone away is no reason to leave the service running.
    private func write(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}
