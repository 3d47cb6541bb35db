package import Foundation

/// The name of what one reconnection has taken; whoever knows it may renew or release that.
package struct LeaseToken: Hashable, Sendable, CustomStringConvertible {
    /// The token, which is all random because knowing it is the proof of the right to use it.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    package var description: String { uuid.text }
}
