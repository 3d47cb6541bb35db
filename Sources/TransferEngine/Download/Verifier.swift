import PollLoop
import Synchronization
import TransferContainer
import TransferModel

/// The comparison of files' checksums with the expected ones, which computes them on threads of its
/// own.
final class Verifier: Sendable {
    /// The maximum number of threads; more would take time from the transfers.
    private static let threadsMax = 4

    private let loops: [PollLoop]
    private let followerCount = Atomic(0)

    /// Starts its threads, one for each processor up to a limit.
    init() throws(PollLoopError) {
        var loops: [PollLoop] = []
        for _ in 0..<min(Processors.count, Self.threadsMax) {
            loops.append(try PollLoop(name: "verifier"))
        }
        self.loops = loops
    }

    deinit { for loop in loops { loop.stop() } }

    /// Starts computing the checksums of a file that is being written.
    func follow(_ part: PartFile, _ algorithms: Set<ChecksumAlgorithm>) -> FileFollower {
        let number = followerCount.wrappingAdd(1, ordering: .relaxed).oldValue
        return FileFollower(part, algorithms, on: loops[abs(number % loops.count)])
    }

    /// Returns what is wrong with a file of these checksums, or nil.
    static func failure(wanted: [Checksum], found: [Checksum]) -> TransferFailure? {
        guard let wrong = wanted.first(where: { !found.contains($0) }) else { return nil }
        let actual = found.first { $0.algorithm == wrong.algorithm }.map { "\($0)" } ?? "unknown"
        return TransferFailure(
            .checksumMismatch,
            "The file's \(wrong.algorithm.rawValue) is \(actual), not \(wrong)."
        )
    }
}
