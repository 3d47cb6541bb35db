package import Foundation

/// Names what a cancelled task left for another one; whoever knows it may use it once.
package struct ResumeDataID: Hashable, Sendable, CustomStringConvertible {
    /// As stored in `resume_data.id`: all random, for it is also the proof of having been told.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    package var description: String { uuid.text }
}
