import TransferWire

/// A limit that all clients of an instance share; its name is part of the API.
enum SharedLimit: String, CaseIterable, Sendable {
    /// The connections of the instance.
    case connections
    /// The connections of one tenant.
    case tenantConnections = "tenant_connections"
    /// The bytes of requests' bodies that are held at once.
    case bodyBytes = "body_bytes"
    /// The large bodies that are decoded at once, and the bytes of submissions read and stored.
    case submissionBytes = "submission_bytes"
    /// The submissions of many tasks that are stored at once.
    case submissions
    /// The bytes of answers that are held until they are read.
    case answerBytes = "answer_bytes"
    /// The bytes on the disk that clients have sent for uploads.
    case stagedBytes = "staged_bytes"
    /// The requests of a tenant in a second.
    case requests
    /// The requests with a key in a second.
    case keyRequests = "key_requests"
    /// The wrong API keys from one address.
    case wrongKeys = "wrong_keys"
    /// The test messages of subscriptions that wait for their receivers.
    case testMessages = "test_messages"
}

extension SharedLimit {
    /// The code of the problem: 429 when the client has its part, 503 when the instance has no
    /// more.
    var code: ProblemDetails.Code {
        switch self {
        case .connections, .bodyBytes: .unavailable
        case .tenantConnections, .submissionBytes, .submissions, .answerBytes, .stagedBytes,
            .requests, .keyRequests, .wrongKeys, .testMessages:
            .tooManyRequests
        }
    }

    var detail: String {
        switch self {
        case .connections: "The instance has as many connections as it can hold."
        case .tenantConnections: "The tenant has as many connections as it may; close one first."
        case .bodyBytes: "The instance reads as many bodies as it can hold."
        case .submissionBytes: "Large bodies of a tenant are taken one after the other."
        case .submissions: "Submissions of many tasks are stored a few at a time."
        case .answerBytes: "Answers to the tenant wait to be read; read them first."
        case .stagedBytes:
            "The bodies that the tenant has brought take their part of the disk; go on at "
                + "`Upload-Offset` when some of its uploads have ended."
        case .requests: "The tenant has sent as many requests as it may in a second."
        case .keyRequests: "As many requests as may be were sent with this key in a second."
        case .wrongKeys: "Too many wrong keys came from this address."
        case .testMessages:
            "As many test messages as may be wait for their receivers; try again in a while."
        }
    }
}
