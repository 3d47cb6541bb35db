import Foundation
import Glibc
import Testing
import TransferTestSupport

@testable import transferd

/// The lines of a log on their way to its reader.
@Suite(.timeLimit(.minutes(3))) struct LogQueueTests {
    private static func line(_ number: Int) -> Data { Data("line \(number)\n".utf8) }

    @Test func aReaderThatStallsIsToldHowManyLinesAreMissing() async throws {
        let pipe = try FullPipe()
        defer { withExtendedLifetime(pipe) {} }
        let queue = LogQueue(pipe.end, bytesMax: 100)
        queue.append(Self.line(0))
        try await eventually("the line waits for room") { try FullPipe.holds(getpid()) }
        // The first 13 have 94 bytes.
        for number in 1..<20 { queue.append(Self.line(number)) }
        // Whoever ends does not wait for the reader.
        queue.drain(within: .milliseconds(10))
        var text = ""
        try await eventually("the reader is told") {
            text += String(decoding: pipe.empty().filter { $0 != 0 }, as: UTF8.self)
            return text.contains("dropped") && text.hasSuffix("\n")
        }
        let lines = text.split(separator: "\n").map(String.init)
        #expect(Array(lines.dropLast()) == (0..<13).map { "line \($0)" })
        let last = try #require(lines.last)
        let fields = try JSONDecoder().decode([String: String].self, from: Data(last.utf8))
        #expect(fields["lines"] == "7")
        #expect(fields["level"] == "warning")

        queue.append(Self.line(20))
        queue.drain(within: .seconds(60))
        #expect(pipe.empty() == Array(Self.line(20)))
    }

    @Test func allLinesAreThereBeforeTheEnd() throws {
        let pipe = try FullPipe()
        defer { withExtendedLifetime(pipe) {} }
        pipe.empty()
        let queue = LogQueue(pipe.end)
        for number in 0..<1000 { queue.append(Self.line(number)) }
        queue.drain(within: .seconds(60))
        #expect(pipe.empty() == (0..<1000).flatMap { Array(Self.line($0)) })
    }
}
