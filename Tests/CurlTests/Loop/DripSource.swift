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

/// A listening socket that nobody accepts from: connections are made and then receive nothing.
final class SilentListener: Sendable {
    let port: UInt16
    private let descriptor: Int32

    struct Failure: Error {}

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(socket, pointer, length) == 0 && listen(socket, 16) == 0
                    && getsockname(socket, pointer, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isListening else { throw Failure() }
    }

    deinit { close(descriptor) }
}
