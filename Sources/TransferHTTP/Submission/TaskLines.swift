import Hummingbird
import NIOCore
import NIOHTTP1
import TransferStore
import TransferWire

/// The lines of a request's body, read as they arrive and returned in parts.
///
/// Only the lines decide where a part ends, not how they arrive, so that a client that sends the
/// same lines again sends the same parts. `@unchecked Sendable` holds because a request reads its
/// body from one task, first in its handler and then in its answer.
final class TaskLines: @unchecked Sendable {
    /// A line without its end.
    struct Line: Sendable {
        /// The number of the line from 1, counting blank lines.
        let number: Int
        let bytes: [UInt8]
    }

    /// The maximum length of a line in bytes, which any task fits, even with every byte of its
    /// strings escaped.
    static let lineBytesMax = 1024 * 1024
    /// The maximum number of lines in a part.
    static let partLinesMax = SubmissionStore.submissionMax
    /// The number of bytes at which a part ends, with the line that reaches it.
    static let partBytesMax = 4 * 1024 * 1024
    /// The number of values at which a part ends, with the line that reaches it: as many as the
    /// tasks of an array may have together.
    static let partValuesMax = JSONText.batchValuesMax
    /// The maximum number of lines in a body.
    static let linesMax = 1_000_000

    private var body: RequestBody.AsyncIterator
    /// The share of the budget for one part at a time.
    private let share: BudgetShare?
    /// The bytes received last that are not in a line yet.
    private var rest = ByteBuffer()
    private var line: [UInt8] = []
    private var lineNumber = 1

    init(_ request: Request, share: BudgetShare?) {
        self.share = share
        body = request.body.makeAsyncIterator()
    }

    /// Returns the next lines, without blank ones, or nil after the last.
    ///
    /// - Throws: ``Problem`` for a line that is too long, for too many lines, for a line beyond the
    ///   budget of this time, and for a body that breaks off: its last part may not be what the
    ///   client meant, so nothing of that part is returned.
    func nextPart() async throws -> [Line]? {
        share?.shrink(to: 0)
        var lines: [Line] = []
        var byteCount = 0
        var valueCount = 0
        while lines.count < Self.partLinesMax, byteCount < Self.partBytesMax,
            valueCount < Self.partValuesMax, let line = try await nextLine()
        {
            lines.append(line)
            byteCount += line.bytes.count
            valueCount += line.valuesAtMost
        }
        return lines.isEmpty ? nil : lines
    }

    private func nextLine() async throws -> Line? {
        while true {
            let isLast = try await !fillLine()
            let found = Line(number: lineNumber, bytes: line)
            line = []
            lineNumber += 1
            if isLast, found.isBlank { return nil }
            guard found.number <= Self.linesMax else {
                throw Problem(
                    .bodyTooLarge,
                    "A body may have at most \(Self.linesMax) lines; send the others with another."
                ).inLine(found.number)
            }
            if !found.isBlank { return found }
        }
    }

    /// Reads up to the end of the line.
    ///
    /// - Returns: false when the body has ended.
    private func fillLine() async throws -> Bool {
        while true {
            let view = rest.readableBytesView
            let end = view.firstIndex(of: UInt8(ascii: "\n"))
            let piece = view[..<(end ?? view.endIndex)]
            guard line.count + piece.count <= Self.lineBytesMax else {
                throw Problem(.bodyTooLarge, "A line may have at most \(Self.lineBytesMax) bytes.")
                    .inLine(lineNumber)
            }
            try share?.takeNow(piece.count)
            line += piece
            if let end {
                rest.moveReaderIndex(to: end + 1)
                return true
            }
            guard let next = try await nextBytes() else {
                rest.clear()
                return false
            }
            rest = next
        }
    }

    private func nextBytes() async throws -> ByteBuffer? {
        do {
            return try await body.next()
        } catch let error as HTTPParserError where !error.isEarlyEnd {
            // The server itself answers broken framing and closes the connection.
            throw error
        } catch {
            throw Request.incomplete
        }
    }
}

extension TaskLines.Line {
    /// Whether there is only whitespace that JSON skips.
    fileprivate var isBlank: Bool {
        bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    }

    /// The most values that the line may have, counted as ``JSONText`` counts them, but without the
    /// digits of long numbers: a comma or bracket in a string only makes a part smaller.
    fileprivate var valuesAtMost: Int {
        bytes.count {
            $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{")
        }
    }
}
