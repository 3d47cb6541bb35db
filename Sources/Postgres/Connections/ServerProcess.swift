internal import CLibPQ
import CLinux
import Glibc

/// The server's process that serves one connection, where the server is on this machine.
///
/// With the longest time slice it is interrupted by whoever wakes. Otherwise a short request may
/// wait behind a long statement for up to a turn of the kernel's clock, 4 ms (docs/decisions/0026).
struct ServerProcess {
    let identifier: pid_t

    /// Finds the process behind an open connection; nil for one of another machine, or of another
    /// namespace of processes.
    ///
    /// The server says which number its process has, and only a socket of this machine says whether
    /// that is a number of ours: the process must be a child of the one that listens there.
    init?(serving server: OpaquePointer) {
        self.init(unsafe PQbackendPID(server), on: unsafe PQsocket(server))
    }

    /// Takes the process of this number, if it is a child of the one that listens on the other side
    /// of a socket.
    init?(_ identifier: pid_t, on socket: Int32) {
        let listener = clinux_listening_process(socket)
        guard identifier > 0, listener > 0, Self.parent(of: identifier) == listener else {
            return nil
        }
        self.identifier = identifier
    }

    /// Has the process give way to whoever wakes, or not any more.
    ///
    /// A system that refuses, or a process of another user, only costs time.
    func setYields(_ yields: Bool) {
        _ = clinux_set_time_slice(identifier, yields ? CLINUX_LONGEST_TIME_SLICE : 0)
    }

    private static func parent(of process: pid_t) -> pid_t? {
        let descriptor = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        // The name of the program, in parentheses, may hold any byte; proc_pid_stat(5).
        guard count > 0, let end = bytes[..<count].lastIndex(of: UInt8(ascii: ")")) else {
            return nil
        }
        let fields = bytes[(end + 1)..<count].split(separator: UInt8(ascii: " "))
        return fields.count > 1 ? pid_t(String(decoding: fields[1], as: UTF8.self)) : nil
    }
}
