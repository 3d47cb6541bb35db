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
    static func line(_ text: String) throws { try bytes(Data("\(text)\n".utf8)) }

    /// Prints bytes as they are.
    static func bytes(_ bytes: Data) throws {
        try send(bytes, to: STDOUT_FILENO, named: "The standard output")
    }

    /// Prints a line for people that programs do not read.
    static func note(_ text: String) throws {
        try send(Data("\(text)\n".utf8), to: STDERR_FILENO, named: "The standard error")
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

    /// Writes all bytes to a descriptor of this process.
    ///
    /// The errors of Foundation's own way name no file and, for people, no reason.
    private static func send(
        _ bytes: Data,
        to descriptor: Int32,
        named name: String
    ) throws(FileFault) {
        var rest = [UInt8](bytes)[...]
        while !rest.isEmpty {
            let (count, number) = rest.withUnsafeBytes { buffer in
                (write(descriptor, buffer.baseAddress, buffer.count), errno)
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if number == EAGAIN {
                // Somebody else who has this pipe or terminal does not wait for its reader.
                var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&writable, 1, -1)
            } else if number != EINTR {
                throw FileFault(name, cannotBe: .written, number: number)
            }
        }
    }
}
