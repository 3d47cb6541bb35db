import Foundation

/// The one line on standard output that tells where the service listens.
struct Announcement: Encodable {
    var event = "listening"
    let host: String
    let port: Int
    /// Whether the API speaks TLS there.
    let tls: Bool
    var pid = ProcessInfo.processInfo.processIdentifier

    /// Writes the line at once, even into a pipe.
    func print() {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard var line = try? encoder.encode(self) else { return }
        line.append(UInt8(ascii: "\n"))
        // The service works even if nobody reads the line.
        try? FileHandle.standardOutput.write(contentsOf: line)
    }
}
