/// The lease that makes tasks their submitter's own from the start, so that no reconnection takes
/// them while it lasts.
package struct SubmissionLease: Equatable, Sendable {
    /// The most tasks submitted with one token, so that a renewal stays as small as a page's.
    package static let tasksMax = 1000

    /// The token, chosen by the submitter: a repeated request finds its tasks under the same one.
    package let token: LeaseToken
    /// The name of the submitter, for people.
    package let owner: String?
    /// The time that the lease lasts unless it is renewed.
    package let seconds: Int64

    package init(token: LeaseToken, owner: String? = nil, seconds: Int64) {
        self.token = token
        self.owner = owner
        self.seconds = seconds
    }
}
