import Glibc

/// A port of 127.0.0.1 on which nobody listens unless told to, as long as this value is there.
///
/// It is bound and never listened on. Linux gives such a port to nobody who leaves the choice to
/// it, so that no origin or service of a test beside this one gets it; whoever names it, and sets
/// `SO_REUSEADDR`, can still listen on it (socket(7)).
package final class HeldPort: Sendable {
    /// The lack of a descriptor or a port.
    package struct Failure: Error {
        /// `errno`.
        package let code: Int32
    }

    package let number: UInt16
    private let descriptor: Int32

    /// Holds a port.
    ///
    /// - Parameter number: of a port on which nobody listens, or 0 for one that the system chooses.
    /// - Throws: ``Failure``.
    package init(_ number: UInt16 = 0) throws(Failure) {
        let (descriptor, bound) = try boundSocket(to: number)
        self.descriptor = descriptor
        self.number = bound
    }

    deinit { close(descriptor) }

    /// Listens on the port, with a queue of `backlog` connections.
    ///
    /// - Returns: the descriptor of the listening socket, which is the caller's.
    /// - Throws: ``Failure``, as when somebody listens on it already.
    package func listen(backlog: Int32) throws(Failure) -> Int32 {
        let (listener, _) = try boundSocket(to: number)
        guard Glibc.listen(listener, backlog) == 0 else {
            let code = errno
            close(listener)
            throw Failure(code: code)
        }
        return listener
    }
}

private func boundSocket(
    to port: UInt16
) throws(HeldPort.Failure) -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw HeldPort.Failure(code: errno) }
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            bind(descriptor, pointer, length) == 0
                && getsockname(descriptor, pointer, &length) == 0 ? 0 : errno
        }
    }
    guard code == 0 else {
        close(descriptor)
        throw HeldPort.Failure(code: code)
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
}
