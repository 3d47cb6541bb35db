import Foundation
import TransferWire

/// What is printed: lines for people, or JSON for programs.
enum Output {
    /// Prints a line, and sends it on its way at once.
    static func line(_ text: String) throws {
        try FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
    }

    /// Prints a line for people that programs do not read.
    static func note(_ text: String) throws {
        try FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
    }

    /// Prints a line for people where nothing can be done about a closed terminal.
    static func complain(_ text: String) { try? note(text) }

    /// Prints a document on a line.
    static func json(_ document: some Encodable) throws {
        try line(String(decoding: try WireEncoder.encode(document), as: UTF8.self))
    }
}
