/// A parser of `text/event-stream`, fed with the bytes as they arrive.
struct ServerSentEventParser {
    /// The bytes of a block are more than a client keeps.
    struct TooLong: Error {}

    /// The most bytes of one block.
    static let blockBytesMax = 8 << 20

    private var line: [UInt8] = []
    private var blockBytes = 0
    private var isAfterCarriageReturn = false
    private var hasFields = false
    private var block = ServerSentEvent()

    /// Reads bytes, and returns the blocks that are complete with them.
    ///
    /// - Throws: ``TooLong`` when a block has no end within ``blockBytesMax``.
    mutating func read(_ bytes: [UInt8]) throws(TooLong) -> [ServerSentEvent] {
        var blocks: [ServerSentEvent] = []
        for byte in bytes {
            // A line ends with a line feed, a carriage return, or both.
            let isSecondOfPair = isAfterCarriageReturn && byte == UInt8(ascii: "\n")
            isAfterCarriageReturn = byte == UInt8(ascii: "\r")
            if isSecondOfPair { continue }
            guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
                blockBytes += 1
                guard blockBytes <= Self.blockBytesMax else { throw TooLong() }
                line.append(byte)
                continue
            }
            if let block = endLine() { blocks.append(block) }
        }
        return blocks
    }

    /// Ends a line, and returns the block that an empty one ends.
    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        guard line.isEmpty else {
            addField()
            return nil
        }
        defer {
            // The identifier holds until another one comes.
            block = ServerSentEvent(id: block.id)
            hasFields = false
            blockBytes = 0
        }
        return hasFields ? block : nil
    }

    private mutating func addField() {
        // A line that starts with a colon is a comment.
        guard let first = line.first, first != UInt8(ascii: ":") else { return }
        let parts = line.split(
            separator: UInt8(ascii: ":"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let name = String(decoding: parts[0], as: UTF8.self)
        var value = parts.count > 1 ? parts[1] : []
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        let text = String(decoding: value, as: UTF8.self)
        switch name {
        case "id":
            // An identifier with a NUL is ignored.
            guard !value.contains(0) else { return }
            block.id = text
        case "event": block.type = text
        case "data": block.data = block.data.map { "\($0)\n\(text)" } ?? text
        case "retry": block.retry = Int64(text) ?? block.retry
        default: return
        }
        hasFields = true
    }
}
