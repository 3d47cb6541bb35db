import Glibc
import NIOCore

/// The reason why the service cannot listen at its address, and what to do.
struct ListenFailure: Error, CustomStringConvertible {
    private let host: String
    private let port: Int
    private let number: Int32

    /// Reads what the server threw; nil for another error.
    init?(_ error: any Error, host: String, port: Int) {
        guard let error = error as? IOError,
            [EADDRINUSE, EADDRNOTAVAIL, EACCES].contains(error.errnoCode)
        else { return nil }
        self.host = host
        self.port = port
        number = error.errnoCode
    }

    var description: String {
        """
        It cannot listen on \(host), port \(port): \(String(cString: strerror(number))). End what \
        listens there, or choose another address with --host or --port (TRANSFERD_HOST, \
        TRANSFERD_PORT).
        """
    }
}
