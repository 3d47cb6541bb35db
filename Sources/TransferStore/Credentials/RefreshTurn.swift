package import Foundation

/// A caller's turn to refresh a credential.
package struct RefreshTurn: Sendable {
    /// The credential as it was when the turn began.
    package let stored: StoredCredential
    /// When the turn ends, by the database's clock.
    ///
    /// It tells the turn from the others at the same version, none of which ends at that moment.
    package let until: Date
}
