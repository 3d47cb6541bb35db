package import Foundation

/// Names what one reconnection has taken; whoever knows it may renew or release that.
package struct LeaseToken: Hashable, Sendable, CustomStringConvertible {
    /// All random, for it is also the proof of having been told.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    package var description: String { uuid.text }
}
