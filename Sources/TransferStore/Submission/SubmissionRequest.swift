import Foundation
import TransferModel

/// Names a living session of a tenant, as requests do.
struct SessionKey: Hashable, Sendable {
    let tenant: TenantID
    let client: ClientID
    /// Compared by their bytes, as in the database: Swift takes equivalent strings for equal.
    private let identifierUTF8: [UInt8]

    var identifier: String { String(decoding: identifierUTF8, as: UTF8.self) }

    init(tenant: TenantID, client: ClientID, identifier: String) {
        self.tenant = tenant
        self.client = client
        identifierUTF8 = Array(identifier.utf8)
    }
}

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

    /// Whether a task goes on with what another one left, which may be gone.
    var namesResumeData: Bool { submissions.contains { $0.resumeData != nil } }
}

/// Requests to one session that are stored together, as a whole or not at all.
struct SubmissionLot: Sendable {
    let session: SessionKey
    var requests: [SubmissionRequest]

    var submissions: [TaskSubmission] { requests.flatMap(\.submissions) }
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
