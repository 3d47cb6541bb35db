/// How sure the service has to be of a database on another machine.
enum DatabaseTLS: String, CaseIterable {
    /// The connection is encrypted, and the server shows a certificate for its name.
    case verified
    /// Whatever the URL says, because the network is trusted.
    case asGiven = "as-given"
}
