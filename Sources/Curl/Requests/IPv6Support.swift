import CCurl
import Glibc
import Synchronization

/// Whether the system supports IPv6 at all, tested as in libcurl (`Curl_ipv6works`).
///
/// Only the kernel's word that it knows no such addresses counts as an answer: a process that had
/// no descriptor to ask with asks again, and looks for both kinds of addresses meanwhile.
final class IPv6Support: Sendable {
    /// What this system supports.
    static let ofSystem = IPv6Support {
        let descriptor = socket(AF_INET6, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { return errno }
        close(descriptor)
        return 0
    }

    private let answer = Mutex<Bool?>(nil)
    private let tryOut: @Sendable () -> Int32

    /// Creates the question; `tryOut` makes such a socket, and returns 0 or the error's number.
    init(tryOut: @escaping @Sendable () -> Int32) { self.tryOut = tryOut }

    /// The family of addresses to look up.
    var family: Int32 { isMissing ? AF_INET : AF_UNSPEC }

    private var isMissing: Bool {
        answer.withLock { answer in
            if let answer { return answer }
            let code = tryOut()
            let isMissing = code == EAFNOSUPPORT
            if code == 0 || isMissing { answer = isMissing }
            return isMissing
        }
    }
}
