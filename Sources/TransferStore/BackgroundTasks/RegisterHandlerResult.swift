package import TransferModel

/// The result of registering a handler.
package enum RegisterHandlerResult: Sendable {
    case registered(BackgroundTaskHandler)
    /// There is one for the identifier; it has to be removed first.
    case registeredBefore
    /// The identifier is none that the tenant permits.
    case notPermitted
    case unknownClient
}
