import Crypto
import Foundation
import Testing
import TransferContainer
import TransferModel
import TransferTestSupport

@testable import TransferEngine

/// Checksums that are computed behind the writing of a file.
@Suite struct FileFollowerTests {
    private static let body = OriginBody.random(seed: 41, size: 3_500_000).bytes

    /// A part file in a container of its own, removed with it.
    private final class Scratch {
        private let folder: TestFolder
        let part: PartFile

        init() throws {
            folder = try TestFolder("follower")
            let place = Container.Place("part", tenant: TenantID(UUID()))
            let container = try Container(directory: folder.path)
            try container.prepareDirectory(of: place)
            part = try PartFile(place, fence: Fence(rawValue: 1), in: container)
        }
    }

    private static func write(_ range: Range<Int>, to part: PartFile) throws {
        try body.withUnsafeBytes { bytes in
            try part.write(
                UnsafeRawBufferPointer(rebasing: bytes[range]),
                at: Int64(range.lowerBound)
            )
        }
    }

    private static let expected = Checksum(.sha256, bytes: Array(SHA256.hash(data: body)))

    @Test func theChecksumIsThatOfAllBytesHoweverTheyCame() async throws {
        let verifier = try Verifier()
        let scratch = try Scratch()
        let follower = verifier.follow(scratch.part, [.sha256])
        // Out of order, in pieces of any size, reported or not.
        for range in [2_000_000..<3_500_000, 0..<1, 1..<1_400_000, 1_400_000..<2_000_000] {
            try Self.write(range, to: scratch.part)
            follower.advance(to: scratch.part.written.prefixCount)
        }
        let found = try await follower.checksums(of: Int64(Self.body.count))
        #expect(found == [Self.expected].compactMap(\.self))
    }

    @Test func manyFilesShareTheThreads() async throws {
        let verifier = try Verifier()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    let scratch = try Scratch()
                    let follower = verifier.follow(scratch.part, [.sha256])
                    for start in stride(from: 0, to: Self.body.count, by: 100_000) {
                        try Self.write(
                            start..<min(start + 100_000, Self.body.count),
                            to: scratch.part
                        )
                        follower.advance(to: scratch.part.written.prefixCount)
                    }
                    let found = try await follower.checksums(of: scratch.part.bytesWritten)
                    return found == [Self.expected].compactMap(\.self)
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test func bytesThatAreGoneAreAFailure() async throws {
        let verifier = try Verifier()
        let scratch = try Scratch()
        try Self.write(0..<1000, to: scratch.part)
        let follower = verifier.follow(scratch.part, [.sha256])
        await #expect(throws: StorageError(operation: "pread", errno: EIO)) {
            try await follower.checksums(of: 2000)
        }
    }
}
