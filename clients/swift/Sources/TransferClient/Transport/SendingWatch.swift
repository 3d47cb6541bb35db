import NIOCore
import Synchronization

/// Finds out that of a file that is sent nothing more is taken.
final class SendingWatch: Sendable {
    /// The longest time between two parts, and from the last one to the response.
    private let stallMax: Duration
    /// When the newest part was taken; before the first, when the request began.
    private let lastTaken = Mutex(ContinuousClock.now)

    init(stallMax: Duration) { self.stallMax = stallMax }

    /// Returns the parts of a file, of which each is noted when it is taken.
    func parts(of slice: FileSlice) -> AsyncMapSequence<FileSlice, ByteBuffer> {
        slice.map { (part: ByteBuffer) -> ByteBuffer in
            self.lastTaken.withLock { $0 = .now }
            return part
        }
    }

    /// Returns once no part was taken in the longest time.
    ///
    /// - Throws: `CancellationError` when nobody waits for it any more.
    func stall() async throws {
        while true {
            let end = lastTaken.withLock { $0 } + stallMax
            guard end > .now else { return }
            try await Task.sleep(until: end, clock: .continuous)
        }
    }
}
