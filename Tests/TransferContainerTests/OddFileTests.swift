import Foundation
import Glibc
import Testing

@testable import TransferContainer

/// Files with numbers that a disk may tell, but that no program writes.
@Suite struct OddFileTests {
    /// Runs `body` with a container in memory, which keeps any size and time.
    private func withContainer(_ body: (Container, String) throws -> Void) throws {
        let directory = "/dev/shm/transferd-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(
            atPath: "\(directory)/a",
            withIntermediateDirectories: true
        )
        try body(Container(directory: directory), "\(directory)/a")
    }

    private func makeFile(_ path: String, size: Int64 = 0) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        #expect(ftruncate(descriptor, off_t(size)) == 0)
    }

    @Test func aTimeBeforeAllOthersIsLongAgo() throws {
        try withContainer { container, folder in
            makeFile("\(folder)/file")
            let time = timespec(tv_sec: .min, tv_nsec: 0)
            #expect(utimensat(AT_FDCWD, "\(folder)/file", [time, time], 0) == 0)
            let walk = try container.walk("a")
            let entry = try #require(walk.next())
            let age = try #require(container.age(of: entry))
            #expect(age > .seconds(1 << 60))
        }
    }

    @Test func sizesBeyondAllNumbersAreTheLargestOne() throws {
        try withContainer { container, folder in
            for name in ["a", "b"] { makeFile("\(folder)/\(name)", size: .max) }
            let bytes = try container.bytes(beneath: "a")
            #expect(bytes == .max)
        }
    }
}
