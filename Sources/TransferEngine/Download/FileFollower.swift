import EventLoop
import Synchronization
import TransferContainer
import TransferModel

/// Computes the checksums of one file while it grows from its begin on.
///
/// The bytes are read back behind the writer, which does not wait for it: they are in the page
/// cache still, and what was there before or comes out of order needs no other way.
final class FileFollower: Sendable {
    private struct State {
        var hasher: ContentHasher
        var position: Int64 = 0
        /// Why the bytes could not be read.
        var error: StorageError?
    }

    /// Bytes that are worth waking the thread, and after which other files have their turn on it.
    private static let stepBytes: Int64 = 1 << 20

    private let loop: EventLoop
    private let part: PartFile
    private let bytesThere = Atomic<Int64>(0)
    private let isStepping = Atomic(false)
    private let state: Mutex<State>

    /// Follows `part`, on the thread of `loop`.
    init(_ part: PartFile, _ algorithms: Set<ChecksumAlgorithm>, on loop: EventLoop) {
        self.part = part
        self.loop = loop
        state = Mutex(State(hasher: ContentHasher(algorithms)))
    }

    /// The first `count` bytes of the file are there; free but for every mebibyte.
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

    /// Takes the next bytes; whether there are more to take.
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

    /// The checksums of the file, which has `count` bytes now.
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
