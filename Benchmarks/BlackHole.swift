import Glibc

/// Accepts connections, as far as the kernel does that alone, and never says a word.
struct BlackHole {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        port = try Program.freePort()
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = descriptor
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 ? listen(socket, 128) : -1
            }
        }
        guard code == 0 else { throw Program.Failure(description: "no black hole") }
    }

    func close() { Glibc.close(descriptor) }
}
