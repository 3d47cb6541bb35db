import TransferModel

/// The tasks that one client submits at once; stored as a whole or not at all.
struct SubmissionRequest: Sendable {
    let submissions: [TaskSubmission]
    let session: SessionKey
    let idempotency: IdempotencyRecord?
    /// The lease under which the tasks are their submitter's own; nil for tasks that nobody holds.
    let lease: SubmissionLease?
    /// The audit entries of the caller, which the statement stores with the tasks.
    var audit = AuditSlot.current

    var size: SubmissionSize {
        SubmissionSize(
            taskCount: submissions.count,
            byteCount: submissions.reduce(idempotency?.response.body.count ?? 0) {
                $0 + $1.byteCount
            }
        )
    }

    /// Whether a task resumes one that left resume data, which may be gone.
    var namesResumeData: Bool { submissions.contains { $0.resumeData != nil } }
}

extension TaskSubmission {
    /// The approximate number of bytes sent to the database, without fields that are always short.
    fileprivate var byteCount: Int {
        var count = url.utf8.count + (clientString?.utf8.count ?? 0)
        for mirror in options.mirrors ?? [] { count += mirror.utf8.count }
        count += headers.byteCount
        switch request.upload {
        case .data(let bytes): count += bytes.count
        case .copy(.remote(let url, let headers)): count += url.utf8.count + headers.byteCount
        case .copy(.result), .file, .staged, nil: break
        }
        return count
    }
}

extension [HTTPHeader] {
    fileprivate var byteCount: Int {
        reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }
}
