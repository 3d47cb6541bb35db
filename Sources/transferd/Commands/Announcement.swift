import Foundation
import PollLoop

/// The one line on standard output that tells where the service listens.
struct Announcement: Encodable {
    var event = "listening"
    let host: String
    let port: Int
    /// Whether the API speaks TLS there.
    let tls: Bool
    var pid = ProcessInfo.processInfo.processIdentifier

    /// Writes the line at once, even into a pipe, on a thread of its own: a reader that stalls must
    /// not keep the service from hearing that it is to stop.
    func print() {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let text = try? encoder.encode(self) else { return }
        let line = text + Data("\n".utf8)
        // The service works even if nobody reads the line.
        let write: @Sendable () -> Void = {
            try? FileHandle.standardOutput.write(contentsOf: line)
        }
        do throws(PollLoopError) {
            try BlockingThread.start(name: "announcement", write)
        } catch {
            // Without room for a thread: whoever started the service waits for the line.
            write()
        }
    }
}
