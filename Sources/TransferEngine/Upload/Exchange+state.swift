import Curl
import TransferModel

extension Exchange {
    /// What the curl loop's thread and others touch, under the mutex.
    struct Confined {
        var machine: ResponseStateMachine
        /// What the task sends, whichever request is under way.
        let source: TransferRequest.UploadSource?
        var request: TransferRequest
        var headers: [HTTPHeader]
        /// Whether the request goes to the task's own origin, so that secrets may be sent.
        var isAtOrigin = true
        /// Whether a redirect has led to another origin; once one has, secrets are withheld
        /// permanently.
        var hasLeftOrigin = false
        /// The redirects of the requests before this one.
        var redirectsBefore = 0
        /// The cookies of this attempt, of the hosts that set them; nil when it keeps none.
        var cookies: CookieJar?
        /// The file being sent, while it is open, if the upload is from a file.
        var file: UploadFile?
        /// What is copied, as its source has told it to this attempt or an earlier one; nil before.
        var copied: SourceStream.Identity?
        /// The body of a copy, as far as it was asked for.
        var stream: SourceStream?
        /// The upload, once its body is known, if its origin continues it.
        var upload: UploadStateMachine?
        /// How many times a resource of ``upload`` is being stored or forgotten.
        var countOfStoring = 0
        /// The end of the attempt, as soon as there is one.
        var end: ResponseStateMachine.End?
        /// Whether the arriving answer is the result, and neither a redirect nor a failure.
        var isResult = false
        var body: [UInt8] = []
        /// Whether the answer was longer than what is kept of it.
        var isCut = false
        var bytesReceived: Int64 = 0
        var bytesExpected: Int64?
        /// The bytes of the body that the origin had before this attempt sent any.
        var bytesSkipped: Int64?
        var metrics = AttemptMetrics()
        var mayHaveArrived = false
        let startedAt = ContinuousClock.now
        /// The status at the end of the attempt, which may be asked for until its slot is free.
        var lastStatus: AttemptStatus?

        var status: AttemptStatus {
            AttemptStatus(
                received: bytesReceived,
                expected: bytesExpected,
                sent: bytesSent,
                toSend: sizeToSend,
                copied: stream?.received ?? 0,
                skipped: min(bytesSkipped ?? 0, bytesSent),
                isAtOrigin: isAtOrigin
            )
        }

        /// Closes the file: its room is free once it is removed, however long somebody holds the
        /// attempt.
        mutating func close() {
            lastStatus = status
            file = nil
        }

        /// Prepares the next request of ``upload``.
        mutating func beginStep(of claim: TaskClaim) {
            forgetAnswer()
            guard let upload else { return }
            redirectsBefore += machine.redirects
            machine = ResponseStateMachine(
                of: claim,
                url: upload.target,
                after: redirectsBefore,
                // What is no answer to the body is no result.
                deliversErrors: upload.sendsBody && claim.options.deliversHTTPErrors ?? false
            )
            request = upload.request(of: claim.request)
            isAtOrigin = upload.isAtOrigin && !hasLeftOrigin
            headers = upload.headers(
                of: isAtOrigin ? claim.headers : claim.headers.filter(claim.isHarmless)
            )
            if upload.sendsBody { bytesSkipped = bytesSkipped ?? upload.start }
        }

        /// Follows a redirect, to another origin if it `dropsSecrets` of the claim.
        mutating func follow(dropsSecrets: Bool, of claim: TaskClaim) {
            forgetAnswer()
            if dropsSecrets {
                isAtOrigin = false
                hasLeftOrigin = true
                let needed = Set(upload?.headers(of: []).map(\.name) ?? [])
                headers.removeAll { !claim.isHarmless($0) && !needed.contains($0.name) }
            }
            request.follow(redirect: metrics.httpStatus ?? 0, &headers)
        }

        /// Drops what has arrived of an answer, which says nothing about the next request.
        private mutating func forgetAnswer() {
            (isResult, isCut, body) = (false, false, [])
        }

        /// Returns what the head of an answer means to an upload that its origin continues.
        mutating func read(_ head: ResponseHead) -> UploadStateMachine.Reading {
            // What was given to the connection, for an early answer.
            let sent = position ?? bytesToSend
            return upload?.received(
                head,
                from: machine.url,
                isAtOrigin: isAtOrigin,
                sent: sent
            ) ?? .ordinary
        }

        /// Notes that the arriving answer is that to the whole body, also if the origin had all of
        /// it before.
        mutating func noteUploadIsWhole() {
            guard let upload, !upload.sendsBody else { return }
            file?.send(from: upload.length)
            bytesSkipped = upload.length
        }

        /// The bytes of the body that were given to the connection, with those before them.
        var bytesSent: Int64 { position ?? (mayHaveArrived ? bytesToSend : bytesSkipped ?? 0) }

        /// The bytes of the whole body, as far as they are known.
        var bytesToSend: Int64 { sizeToSend ?? position ?? 0 }

        /// The bytes of the whole body; nil when they are not known in advance.
        var sizeToSend: Int64? {
            switch source {
            case .data(let bytes): Int64(bytes.count)
            case .copy: copied?.length
            case .file, .staged, nil: file?.size ?? 0
            }
        }

        /// How far libcurl was given a body that is not in memory; nil for any other.
        private var position: Int64? {
            if case .copy = source { return stream?.position ?? bytesSkipped ?? 0 }
            return file?.position
        }

        /// Whether a later attempt could do what has been done once more.
        var mayHaveEffects: Bool { mayHaveArrived && !(upload?.mayBeResumed ?? false) }
    }
}

/// A body that another origin sends.
extension Exchange.Confined {
    /// Whether what is copied has to be asked for before anything can be sent.
    var isCopyUnknown: Bool {
        if case .copy = source { copied == nil } else { false }
    }

    /// Where the source has to be asked for the body of the next request; nil when it need not be.
    var missingCopy: Int64? {
        guard machine.mayRequest, case .copy = source else { return nil }
        guard copied != nil else { return 0 }
        guard case .copy = request.upload else { return nil }
        let start = upload?.start ?? 0
        return hasSentCopy || stream?.isAt(start) ?? false ? nil : start
    }

    /// Whether the origin has all of the body, so that its rest is empty.
    private var hasSentCopy: Bool { upload.map { $0.start > 0 && $0.start == $0.length } ?? false }

    /// Returns what to ask the source for, so that what follows is of the same version; nil for all
    /// of any version.
    func copyPoint(
        at start: Int64
    ) throws(TransferFailure) -> ResponseStateMachine.ResumePoint? {
        guard start > 0 else { return nil }
        guard let length = copied?.length, let validator = copied?.validator else {
            throw .sourceWithoutValidator
        }
        return ResponseStateMachine.ResumePoint(
            range: start..<length,
            total: length,
            validator: validator,
            // Nobody has kept where the source had led before.
            mayBeOfAnother: validator.isEntityTag
        )
    }

    /// Adds the body to a request, with what the source says of it unless the task does.
    ///
    /// - Returns: false if there is no body, with which nothing may be sent.
    func addCopy(to request: inout CurlRequest) -> Bool {
        guard !hasSentCopy else {
            request.body = []
            return true
        }
        request.bodySource = stream
        // What has been read of another origin cannot be sent again.
        request.isReplayable = false
        guard upload?.isWhole ?? true else { return stream != nil }
        for field in stream?.fields ?? []
        where !request.headers.contains(where: { $0.name.lowercased() == field.name.lowercased() })
        {
            request.headers.append((field.name, field.value))
        }
        return stream != nil
    }
}

extension ResponseStateMachine {
    /// Creates the reaction to the answer to a request of `claim` for `url`, after `redirects` of
    /// earlier requests.
    init(of claim: TaskClaim, url: CurlURL, after redirects: Int = 0, deliversErrors: Bool) {
        let redirectsMax = claim.options.redirectsMax ?? TransferOptions.redirectsMaxDefault
        self.init(
            url: url,
            redirectsMax: max(0, redirectsMax - redirects),
            guarding: claim.options.sendsBodyToOtherOrigins ?? false ? nil : claim.request,
            hasContent: claim.request.method != "HEAD",
            deliversErrors: deliversErrors
        )
    }
}
