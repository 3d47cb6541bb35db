import PollLoop
import Synchronization
import TransferContainer
import TransferModel

/// A reader that computes the checksums of one file while it grows from its start.
///
/// The bytes are read back behind the writer, which does not wait for this: they are still in the
/// page cache, and bytes that were there before or arrive out of order need no special treatment.
final class FileFollower: Sendable {
    private struct State {
        var hasher: ContentHasher
        var position: Int64 = 0
        /// The reason why the bytes could not be read.
        var error: StorageError?
    }

    /// The number of bytes that are worth waking the thread, and after which other files get their
    /// turn on it.
    private static let stepBytes: Int64 = 1 << 20

    private let loop: PollLoop
    private let part: PartFile
    private let bytesThere = Atomic<Int64>(0)
    private let isStepping = Atomic(false)
    private let state: Mutex<State>

    /// Creates a follower of `part` on the thread of `loop`.
    init(_ part: PartFile, _ algorithms: Set<ChecksumAlgorithm>, on loop: PollLoop) {
        self.part = part
        self.loop = loop
        state = Mutex(State(hasher: ContentHasher(algorithms)))
    }

    /// Records that the first `count` bytes of the file are there; costs nothing except once per
    /// mebibyte.
    func advance(to count: Int64) {
        guard count - bytesThere.load(ordering: .relaxed) >= Self.stepBytes else { return }
        bytesThere.store(count, ordering: .releasing)
        guard !isStepping.exchange(true, ordering: .acquiringAndReleasing) else { return }
        loop.execute { self.step() }
    }

    private func step() {
        if read(upTo: bytesThere.load(ordering: .acquiring)) {
            loop.execute { self.step() }
        } else {
            isStepping.store(false, ordering: .releasing)
        }
    }

    /// Reads the next bytes and returns whether there are more to read.
    private func read(upTo count: Int64) -> Bool {
        state.withLock { state in
            let end = min(count, state.position + Self.stepBytes)
            guard state.position < end, state.error == nil else { return false }
            do throws(StorageError) {
                try part.hash(state.position..<end, into: &state.hasher)
                state.position = end
                return end < count
            } catch {
                state.error = error
                return false
            }
        }
    }

    /// Returns the checksums of the file, which now has `count` bytes.
    func checksums(of count: Int64) async throws(StorageError) -> [Checksum] {
        await withCheckedContinuation { continuation in
            loop.execute { self.finish(count) { continuation.resume() } }
        }
        return try state.withLock { state throws(StorageError) in
            if let error = state.error { throw error }
            return state.hasher.finalize()
        }
    }

    private func finish(_ count: Int64, _ whenDone: @escaping @Sendable () -> Void) {
        guard read(upTo: count) else { return whenDone() }
        loop.execute { self.finish(count, whenDone) }
    }
}
