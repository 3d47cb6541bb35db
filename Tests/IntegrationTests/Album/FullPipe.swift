import Foundation
import Glibc
import Testing

/// A pipe without room, at which whoever writes to it waits until it is emptied.
final class FullPipe {
    /// The descriptor to write to.
    let end: Int32
    private let start: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        (start, end) = (ends[0], ends[1])
        for end in ends { try #require(fcntl(end, F_SETFL, O_NONBLOCK) == 0) }
        let page = [UInt8](repeating: 0, count: 4096)
        while write(end, page, page.count) > 0 {}
        try #require(errno == EAGAIN)
        try #require(fcntl(end, F_SETFL, 0) == 0)
    }

    deinit {
        close(end)
        close(start)
    }

    /// Makes room, and returns the bytes that were there.
    @discardableResult func empty() -> [UInt8] {
        var bytes: [UInt8] = []
        var page = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(start, &page, page.count)
            guard count > 0 else { return bytes }
            bytes += page[..<count]
        }
    }

    /// Returns whether a thread of a process waits for room in a pipe.
    static func holds(_ process: pid_t) throws -> Bool {
        let threads = "/proc/\(process)/task"
        return try FileManager.default.contentsOfDirectory(atPath: threads).contains { thread in
            let place = try? String(contentsOfFile: "\(threads)/\(thread)/wchan", encoding: .utf8)
            return place?.contains("pipe_write") == true
        }
    }
}
