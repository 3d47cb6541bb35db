import TransferModel

/// The requests to one session that are stored together, as a whole or not at all.
struct SessionBatch: Sendable {
    let session: SessionKey
    var requests: [SubmissionRequest]

    var submissions: [TaskSubmission] {
        // A large one is alone, and not copied.
        requests.count == 1 ? requests[0].submissions : requests.flatMap(\.submissions)
    }

    /// Notes that the audit entries of the requests have been stored with their tasks.
    func markRecorded() {
        for slot in requests.flatMap(\.audit) { slot.markRecorded() }
    }
}
