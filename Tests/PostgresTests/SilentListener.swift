import Glibc

/// A port that accepts connections (the kernel does) and never sends anything.
final class SilentListener {
    let port: UInt16
    private let descriptor: Int32

    struct Failure: Error { let code: Int32 }

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, pointer, &length) == 0 ? 0 : errno
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard code == 0 else { throw Failure(code: code) }
    }

    deinit { close(descriptor) }
}
