package import TransferModel

/// What became of a session that was put.
package enum PutSessionResult: Sendable {
    case created(Session)
    /// It was there; unless it is of another kind, it has the configuration now.
    case updated(Session)
    /// The tenant has no such client; nothing was stored.
    case unknownClient
    /// The client is an extension, whose sessions name a container; nothing was stored.
    case sharedContainerRequired
}
