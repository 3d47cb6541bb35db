package import Foundation

/// A caller's turn to refresh a credential.
package struct RefreshTurn: Sendable {
    /// The credential as it was when the turn began.
    package let stored: StoredCredential
    /// When the turn ends, by the database's clock; no later turn at the same version ends then.
    package let until: Date
}
