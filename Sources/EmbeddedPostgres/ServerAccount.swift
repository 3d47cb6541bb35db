import Glibc

/// The user that runs the server when we are root, as which PostgreSQL refuses to run.
struct ServerAccount: Equatable, Sendable {
    let name: String
    let userID: uid_t
    let groupID: gid_t

    /// The accounts to use, the best one first.
    private static let candidates = ["postgres", "nobody"]

    /// Returns the account to use; nil when we are not root, and the server runs as our user.
    static func ofThisProcess() throws(EmbeddedPostgresError) -> ServerAccount? {
        guard geteuid() == 0 else { return nil }
        for name in candidates {
            if let account = ServerAccount(name: name) { return account }
        }
        throw .accountMissing
    }

    /// Throws unless the user of this process has a name, without which nobody makes a cluster.
    static func requireOwnName() throws(EmbeddedPostgresError) {
        guard getpwuid(geteuid()) != nil else { throw .userNameless(geteuid()) }
    }

    private init?(name: String) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else {
            return nil
        }
        self.name = name
        userID = entry.pw_uid
        groupID = entry.pw_gid
    }

    /// Returns the command that runs another one as this user, by whichever program exists.
    func prefix() throws(EmbeddedPostgresError) -> [String] {
        for directory in ["/usr/bin", "/bin", "/usr/sbin", "/sbin"] {
            // setpriv first: it replaces itself and opens no PAM session.
            if access("\(directory)/setpriv", X_OK) == 0 {
                return [
                    "\(directory)/setpriv", "--reuid=\(userID)", "--regid=\(groupID)",
                    "--clear-groups", "--",
                ]
            }
            if access("\(directory)/runuser", X_OK) == 0 {
                return ["\(directory)/runuser", "-u", name, "--"]
            }
        }
        throw .programMissing("setpriv")
    }
}
