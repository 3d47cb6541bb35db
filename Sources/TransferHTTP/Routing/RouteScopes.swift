import TransferModel

/// The scopes that a request needs for what its route does only sometimes.
enum RouteScopes {
    /// The scope that a reconnection needs, also one that a route for something else makes.
    static let reconnection: KeyScope = .control

    /// The scope that a change of what exists needs, also by a route that creates.
    static let change: KeyScope = .control

    /// The scope that is needed to send what the tenant keeps to an origin, beside that of the
    /// route: the origin, which the caller chooses, reads it.
    static let sendingFiles: KeyScope = .read

    /// The scope that is needed to name another origin for a task, beside that of the route: the
    /// origin gets the headers of the session and its credential, as that of a new task does.
    static let namingOrigins: KeyScope = .submit
}
