import Foundation
package import TransferModel

/// A request as it would be stored, for an answer that is kept together with it.
package struct RequestDraft: Sendable {
    package let request: PendingRequest
    /// Not launched before; with the delay that chance has given it.
    let dueAt: Date
    /// The last launch of its handler, from which its interval counts.
    let lastLaunchedAt: Date?
}
