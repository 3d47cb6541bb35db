package import TransferModel

/// The result of creating or updating a session.
package enum PutSessionResult: Sendable {
    case created(Session)
    /// The session existed; unless it is of another kind, it has the configuration now.
    case updated(Session)
    /// The condition is not met; nothing was stored.
    case conditionFailed
    /// The session existed with another configuration, which was not to be changed; nothing was
    /// stored.
    case configurationDiffers
    /// The tenant has no such client; nothing was stored.
    case unknownClient
    /// The client is an extension, whose sessions name a container; nothing was stored.
    case sharedContainerRequired
}
