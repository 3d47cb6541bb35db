package import Foundation

/// What a client asks for: one transfer, validated.
package struct TaskSubmission: Sendable {
    package let id: TaskID
    package var url: String
    /// The host the task counts against.
    package var lane: Lane
    package var headers: [HTTPHeader]
    package var clientString: ClientString?
    package var earliestBeginAt: Date?
    package var autostart: Bool
    package var destination: Destination?
    package var priority: TaskPriority
    /// What a cancelled task left to go on with.
    package var resumeData: ResumeDataID?
    package var options: TransferOptions
    package var request: TransferRequest

    package init(
        id: TaskID,
        url: String,
        lane: Lane,
        headers: [HTTPHeader] = [],
        clientString: ClientString? = nil,
        earliestBeginAt: Date? = nil,
        autostart: Bool = true,
        destination: Destination? = nil,
        priority: TaskPriority = .default,
        resumeData: ResumeDataID? = nil,
        options: TransferOptions = TransferOptions(),
        request: TransferRequest = TransferRequest()
    ) {
        self.id = id
        self.url = url
        self.lane = lane
        self.headers = headers
        self.clientString = clientString
        self.earliestBeginAt = earliestBeginAt
        self.autostart = autostart
        self.destination = destination
        self.priority = priority
        self.resumeData = resumeData
        self.options = options
        self.request = request
    }
}

/// A transfer task as a client sees it.
package struct TransferTask: Sendable {
    package let id: TaskID
    package let session: SessionID
    package let client: ClientID
    package let sessionIdentifier: String
    package let state: TransferState
    package let url: String
    package let clientString: ClientString?
    package let earliestBeginAt: Date?
    package let destination: Destination?
    package let priority: TaskPriority
    /// What the task itself says of how it is transferred.
    package let options: TransferOptions
    package let kind: TransferRequest.Kind
    package let method: String
    /// Whether the bytes of an upload are still to be brought by its client.
    package let awaitsBody: Bool
    /// Attempts begun so far.
    package let attempt: Int
    package let bytesReceived: Int64
    /// Nil while unknown: `NSURLSessionTransferSizeUnknown`.
    package let bytesExpected: Int64?
    package let bytesSent: Int64
    /// Nil while unknown.
    package let bytesToSend: Int64?
    /// Of the running attempt in the last seconds; nil when there is none.
    package let bytesPerSecond: Int64?
    /// Until when a waiting state lasts.
    package let waitsUntil: Date?
    /// The newest failure: of the task when it failed, of the last attempt when it waits.
    package let failure: TransferFailure?
    package let result: TransferResult?
    /// The part file that is the result as it is; nil when that has a name without a fence.
    package let part: Fence?
    /// When somebody found that the file of the completed task is gone; nil while nobody has.
    package let resultGoneAt: Date?
    package let createdAt: Date
    package let finishedAt: Date?
    /// Until when at least it is kept; nil before its end.
    package let expiresAt: Date?

    package init(
        id: TaskID,
        session: SessionID,
        client: ClientID,
        sessionIdentifier: String,
        state: TransferState,
        url: String,
        clientString: ClientString?,
        earliestBeginAt: Date?,
        destination: Destination?,
        priority: TaskPriority,
        options: TransferOptions,
        kind: TransferRequest.Kind,
        method: String,
        awaitsBody: Bool,
        attempt: Int,
        bytesReceived: Int64,
        bytesExpected: Int64?,
        bytesSent: Int64,
        bytesToSend: Int64?,
        bytesPerSecond: Int64?,
        waitsUntil: Date?,
        failure: TransferFailure?,
        result: TransferResult?,
        part: Fence?,
        resultGoneAt: Date? = nil,
        createdAt: Date,
        finishedAt: Date?,
        expiresAt: Date?
    ) {
        self.id = id
        self.session = session
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.state = state
        self.url = url
        self.clientString = clientString
        self.earliestBeginAt = earliestBeginAt
        self.destination = destination
        self.priority = priority
        self.options = options
        self.kind = kind
        self.method = method
        self.awaitsBody = awaitsBody
        self.attempt = attempt
        self.bytesReceived = bytesReceived
        self.bytesExpected = bytesExpected
        self.bytesSent = bytesSent
        self.bytesToSend = bytesToSend
        self.bytesPerSecond = bytesPerSecond
        self.waitsUntil = waitsUntil
        self.failure = failure
        self.result = result
        self.part = part
        self.resultGoneAt = resultGoneAt
        self.createdAt = createdAt
        self.finishedAt = finishedAt
        self.expiresAt = expiresAt
    }
}

/// What the origin answered to a completed task.
package struct TransferResult: Equatable, Sendable {
    package let httpStatus: Int
    package let bytesReceived: Int64
    /// The response's `Content-Type`, at most 255 bytes.
    package let contentType: String?
    /// The response's `ETag`, at most 255 bytes.
    package let etag: String?
    /// Whether the server announced the length that was checked.
    package let isLengthVerified: Bool
    /// See ``SuggestedFileName``.
    package let suggestedFileName: String?

    package init(
        httpStatus: Int,
        bytesReceived: Int64,
        contentType: String?,
        etag: String?,
        isLengthVerified: Bool,
        suggestedFileName: String? = nil
    ) {
        self.httpStatus = httpStatus
        self.bytesReceived = bytesReceived
        self.contentType = contentType
        self.etag = etag
        self.isLengthVerified = isLengthVerified
        self.suggestedFileName = suggestedFileName
    }
}

/// A file name in the tenant's container that a client chose for a result.
package struct Destination: Hashable, Sendable {
    /// Relative, `/`-separated, without empty, `.` or `..` components.
    package let path: String
    /// Whether an existing file is replaced.
    package let overwrite: Bool

    /// The longest path and component, in UTF-8 bytes; the component leaves room for the part
    /// file's suffix within the 255 bytes of a Linux file name.
    package static let pathBytesMax = 1024
    package static let componentBytesMax = 200

    /// - Returns: nil when `path` could name anything but a file of clients beneath the container.
    package init?(path: String, overwrite: Bool) {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= Self.pathBytesMax else { return nil }
        // Compared as bytes: a combining mark after a slash would hide it from `Character`.
        for component in bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        {
            guard !component.isEmpty, component.count <= Self.componentBytesMax,
                !component.elementsEqual(".".utf8), !component.elementsEqual("..".utf8),
                component.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { return nil }
        }
        let isReserved = bytes.split(separator: UInt8(ascii: "/"))[0]
            .elementsEqual(ResultLocation.reservedFolder.utf8)
        // A part file has such a name, and is removed when its attempt is gone.
        guard !isReserved, ResultLocation.fence(ofPart: path) == nil else { return nil }
        self.path = path
        self.overwrite = overwrite
    }

    /// Takes back what the database holds.
    package init(storedPath path: String, overwrite: Bool) {
        self.path = path
        self.overwrite = overwrite
    }
}

/// The order of tasks for one host, higher first: `URLSessionTask.priority`, 0…1.
package struct TaskPriority: Hashable, Sendable {
    /// As stored: 0 (first) to 1000 (last), so that an index reads in claim order.
    package let rank: Int16

    package static let `default` = TaskPriority(rank: 500)

    /// - Returns: nil outside 0…1.
    package init?(_ priority: Double) {
        guard (0...1).contains(priority) else { return nil }
        rank = Int16(((1 - priority) * 1000).rounded())
    }

    /// Takes back what the database holds.
    package init(rank: Int16) { self.rank = rank }

    /// 0…1 in steps of a thousandth.
    package var value: Double { Double(1000 - rank) / 1000 }
}
