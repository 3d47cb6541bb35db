package import Foundation

/// The name of what a cancelled task left for another one; whoever knows it may use it once.
package struct ResumeDataID: Hashable, Sendable, CustomStringConvertible {
    /// The value stored in `resume_data.id`, all random because knowing it is the right to use it.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    package var description: String { uuid.text }
}
