import Curl
import Glibc
import Synchronization

/// A body of `count` bytes, one at a time, each made after a pause of the loop's thread.
final class DripSource: CurlBodySource {
    let length: Int64?
    private let pause: Duration
    private let left: Mutex<Int>

    init(count: Int, pause: Duration, hasLength: Bool = true) {
        length = hasLength ? Int64(count) : nil
        self.pause = pause
        left = Mutex(count)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        left.withLock { left in
            guard left > 0 else { return .bytes(0) }
            // This blocks as a slow disk would: the pause is the fault under test, not a wait for
            // it.
            usleep(UInt32(pause.components.attoseconds / 1_000_000_000_000))
            buffer[0] = 0x61
            left -= 1
            return .bytes(1)
        }
    }

    func rewind() -> Bool { false }
}
