import TransferModel

/// What one client submits at once; stored as a whole or not at all.
struct SubmissionRequest: Sendable {
    let submissions: [TaskSubmission]
    let session: SessionKey
    let idempotency: IdempotencyRecord?

    var size: SubmissionSize {
        SubmissionSize(
            taskCount: submissions.count,
            byteCount: submissions.reduce(idempotency?.response.body.count ?? 0) {
                $0 + $1.byteCount
            }
        )
    }

    /// Whether a task resumes what another one left, which may be gone.
    var namesResumeData: Bool { submissions.contains { $0.resumeData != nil } }
}

extension TaskSubmission {
    /// About as many bytes as are sent to the database; what is always short is not counted.
    fileprivate var byteCount: Int {
        var count = url.utf8.count + (clientString?.utf8.count ?? 0)
        for header in headers { count += header.name.utf8.count + header.value.utf8.count }
        if case .data(let bytes) = request.upload { count += bytes.count }
        return count
    }
}
