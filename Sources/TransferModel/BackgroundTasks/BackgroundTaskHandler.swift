package import Foundation

/// What a client has registered to be launched for.
package struct BackgroundTaskHandler: Sendable {
    package let identifier: BackgroundTaskIdentifier
    package let kind: BackgroundTaskKind
    /// Whether the client is told before a run expires.
    package let hasExpirationHandler: Bool
    package let registeredAt: Date

    package init(
        identifier: BackgroundTaskIdentifier,
        kind: BackgroundTaskKind,
        hasExpirationHandler: Bool,
        registeredAt: Date
    ) {
        self.identifier = identifier
        self.kind = kind
        self.hasExpirationHandler = hasExpirationHandler
        self.registeredAt = registeredAt
    }
}
