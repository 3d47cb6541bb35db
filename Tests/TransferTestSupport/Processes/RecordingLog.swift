package import Logging
import Synchronization

/// A log that keeps its entries, one text a line.
package final class RecordingLog: Sendable {
    private let recorded = Mutex<[String]>([])

    /// Makes an empty log.
    package init() {}

    /// The entries so far.
    package var lines: [String] { recorded.withLock { $0 } }

    /// A logger that writes to this log.
    package var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: RecordingLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(log: RecordingLog) { self.log = log }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }
                .map { "\($0.key)=\($0.value)" }
            let line = ([event.level.rawValue, event.message.description] + fields)
                .joined(separator: " ")
            log.recorded.withLock { $0.append(line) }
        }
    }
}
