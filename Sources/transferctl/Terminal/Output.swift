import Foundation
import TransferWire

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What is printed: lines for people, or JSON for programs.
enum Output {
    /// Whether people read the output as it comes.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Prints a line, and sends it on its way at once.
    static func line(_ text: String) throws {
        try FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
    }

    /// Prints a line for people that programs do not read.
    static func note(_ text: String) throws {
        try FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
    }

    /// Prints a line for people where nothing can be done about a closed terminal.
    static func complain(_ text: String, terminator: String = "\n") {
        try? FileHandle.standardError.write(contentsOf: Data("\(text)\(terminator)".utf8))
    }

    /// Prints a document on a line.
    static func json(_ document: some Encodable) throws {
        try line(String(decoding: try WireEncoder.encode(document), as: UTF8.self))
    }

    /// Prints a list page by page: each item as JSON on a line, or the pages as a table.
    static func list<Item>(
        json: Bool,
        _ table: Table,
        page: (String?) async throws -> Page<Item>,
        row: (Item) -> [String]
    ) async throws {
        var table = table
        var cursor: String?
        repeat {
            let next = try await page(cursor)
            if json {
                for item in next.items { try self.json(item) }
            } else {
                for line in table.lines(next.items.map(row)) { try self.line(line) }
            }
            for id in next.unreadable ?? [] { try note("\(id): cannot be read") }
            cursor = next.nextCursor
        } while cursor != nil
    }
}
