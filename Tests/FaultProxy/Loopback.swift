import Glibc

/// Non-blocking TCP sockets on 127.0.0.1.
enum Loopback {
    /// Linux's `SOCK_NONBLOCK`, which is `O_NONBLOCK`.
    private static let type =
        Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | O_NONBLOCK

    /// The size of socket buffers.
    ///
    /// It is small enough that the kernel does not take a whole body from a slow stream, and large
    /// enough for some hundred megabytes per second.
    private static let bufferBytes: Int32 = 256 * 1024

    static func listen() throws(FaultProxy.ListenError) -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw FaultProxy.ListenError(code: errno) }
        setBuffers(descriptor)
        var address = address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && Glibc.listen(descriptor, 4096) == 0
                    && getsockname(descriptor, pointer, &length) == 0 ? 0 : errno
            }
        }
        guard code == 0 else {
            close(descriptor)
            throw FaultProxy.ListenError(code: code)
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// Returns the next connection, or -1 when there is none.
    static func accept(_ listener: Int32) -> Int32 {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return -1 }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        setNoDelay(descriptor)
        return descriptor
    }

    /// Returns a socket that connects to `port`, or -1.
    static func connect(_ port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { return -1 }
        setBuffers(descriptor)
        setNoDelay(descriptor)
        var address = address(port: port)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 || errno == EINPROGRESS else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    /// Returns a socket that connects to the one at `path`, or -1.
    static func connect(toSocket path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return -1 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let isShort = withUnsafeMutableBytes(of: &address.sun_path) { field in
            guard path.utf8.count < field.count else { return false }
            field.copyBytes(from: path.utf8)
            return true
        }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard isShort, code == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    /// Closes with RST instead of FIN.
    static func reset(_ descriptor: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        let length = socklen_t(MemoryLayout<linger>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, length)
        close(descriptor)
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }

    /// Sets the buffers, which accepted sockets inherit from the listener.
    private static func setBuffers(_ descriptor: Int32) {
        var bytes = bufferBytes
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, 4)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, 4)
    }

    private static func setNoDelay(_ descriptor: Int32) {
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    }
}
