import Foundation
import Logging

/// Writes one JSON object per line to standard error, so that no value can fake a second line.
struct JSONLogHandler: LogHandler {
    /// The length above which a value is cut: the log is meant for reading.
    private static let valueBytesMax = 2048

    /// Date and time in UTC, as in `2026-11-25T02:59:59.123Z`.
    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    let label: String

    init(label: String, level: Logger.Level) {
        self.label = label
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields: [String: String] = [:]
        for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
            fields[key] = Self.bounded("\(value)")
        }
        fields["label"] = label
        guard let line = Self.line(event.level, "\(event.message)", fields) else { return }
        LogQueue.standardError.append(line)
    }

    /// Returns the line in the place of `count` lines that were dropped.
    static func line(ofDropped count: Int) -> Data? {
        let fields = ["label": "transferd", "lines": "\(count)"]
        return line(.warning, "log lines dropped: nobody read them", fields)
    }

    private static func line(
        _ level: Logger.Level,
        _ message: String,
        _ others: [String: String]
    ) -> Data? {
        var fields = others
        fields["level"] = level.rawValue
        fields["message"] = bounded(message)
        fields["time"] = Date.now.formatted(Self.time)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard var line = try? encoder.encode(fields) else { return nil }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private static func bounded(_ text: String) -> String {
        text.utf8.count <= valueBytesMax
            ? text : String(decoding: text.utf8.prefix(valueBytesMax), as: UTF8.self) + "…"
    }
}
