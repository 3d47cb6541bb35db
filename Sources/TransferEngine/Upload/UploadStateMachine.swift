import Curl
import TransferModel

/// The requests of an upload that continues where its origin has stopped; it only decides and
/// carries nothing out.
struct UploadStateMachine {
    /// A request of the upload.
    enum Step: Equatable {
        /// The task's own, with the whole body, of which the origin may say that it can be resumed.
        case whole
        /// Without a body: the origin names the resource that takes it.
        case creation
        /// The question how much of the body the resource has.
        case offset
        /// The rest of the body, to the resource; it may be empty.
        case rest(from: Int64)
    }

    /// The meaning of an answer's head.
    enum Reading {
        /// It ends its step as that of any other request: as a result, a failure or a redirect.
        case ordinary
        /// It leads to ``step``.
        case next
        case failed(TransferFailure)
    }

    /// The most requests of one attempt; an origin that takes a body in smaller pieces is one that
    /// never comes to an end.
    static let requestsMax = 1000
    /// The most answers of one attempt that what was sent begins elsewhere than where it has to.
    static let conflictsMax = 3
    /// The iteration of the draft that is spoken (its appendix on draft versions).
    static let draftVersion = "8"

    let dialect: ResumableUpload
    /// The URL of the task.
    let origin: CurlURL
    private let fence: Fence
    private let sendsBodyToOtherOrigins: Bool
    private let isIdempotent: Bool
    /// The number of bytes of the whole body.
    let length: Int64
    private let body: String
    private(set) var step: Step
    /// Where the origin takes the rest.
    private(set) var resource: UploadResource?
    /// The URL of ``resource``.
    private(set) var resourceURL: CurlURL?
    /// Whether ``resource`` outlives this process.
    private(set) var isKept = false
    /// A resource at which no attempt may continue; it may be stored, or be about to be.
    private(set) var unusable: UploadResource?
    private var requests = 1
    private var conflicts = 0
    private var hasBegunAnew = false
    /// The bytes that the origin has told it has.
    private var acknowledged: Int64 = 0

    /// Begins where an earlier attempt of the task has stopped, if the body is still the same.
    ///
    /// - Parameters:
    ///   - dialect: any but `off`, for an upload that begins.
    ///   - claim: the task, with its resource.
    ///   - url: the task's.
    ///   - length: the number of bytes of the body.
    ///   - body: a text that another body would change.
    /// - Throws: a failure when the body has changed and the task must not be done twice.
    init(
        _ dialect: ResumableUpload,
        of claim: TaskClaim,
        url: CurlURL,
        length: Int64,
        body: String
    ) throws(TransferFailure) {
        let known = claim.uploadResource
        // What the task's options say by now is for an upload that begins.
        let dialect = known?.body == body ? known?.dialect ?? dialect : dialect
        self.dialect = dialect
        origin = url
        fence = claim.fence
        sendsBodyToOtherOrigins = claim.options.sendsBodyToOtherOrigins ?? false
        isIdempotent = claim.isIdempotent
        self.length = length
        self.body = body
        step = dialect.namesResourceFirst ? .creation : .whole
        guard let known, let named = try? CurlURL(known.url) else { return }
        if known.body == body {
            // Whatever was stored: secrets are for the origin of the task's URL as it is now.
            resource = known.isAtOrigin && !named.isSameOrigin(as: url) ? known.elsewhere : known
            resourceURL = named
            isKept = true
            step = .offset
        } else if !isIdempotent {
            if known.body.hasPrefix(SourceStream.Identity.unprovenPrefix) {
                throw TransferFailure.sourceWithoutValidator.final
            }
            throw TransferFailure(
                .sourceChanged,
                "The file was changed after a part of it had been sent."
            )
        }
    }

    /// The bytes of the body that the step does not send again.
    var start: Int64 {
        if case .rest(let start) = step { start } else { 0 }
    }

    /// Whether the step is the task's own request.
    var isWhole: Bool { step == .whole }

    /// Whether the step sends a body.
    var sendsBody: Bool {
        switch step {
        case .whole, .rest: true
        case .creation, .offset: false
        }
    }

    /// Whether the step does what the task is for, as far as its origin is concerned: it sends the
    /// body, or creates an upload of no bytes, which is then complete (tus, "Creation").
    var hasEffects: Bool { sendsBody || step == .creation && isCompleteOnceCreated }

    private var isCompleteOnceCreated: Bool { dialect == .tus && length == 0 }

    /// Whether ``resource`` has to be kept before the step.
    var awaitsKeeping: Bool { !isKept && resource != nil && step != .whole }

    /// Whether libcurl may repeat the request of the step by itself: a body that was cut would be
    /// sent again from where it began, before the origin is asked what it has.
    var isRepeatable: Bool { !sendsBody }

    /// Whether another attempt may follow whatever the origin has got: it asks how much that is.
    var mayBeResumed: Bool { isKept || step == .creation && !isCompleteOnceCreated }

    /// Records that a resource was stored.
    mutating func kept(_ resource: UploadResource) {
        if resource == self.resource { isKept = true }
    }

    /// Records that ``unusable`` was forgotten.
    mutating func forgotten() { unusable = nil }
}

extension UploadStateMachine {
    /// Handles an informational response to a request for `url`.
    ///
    /// - Returns: whether ``resource`` is new and has to be kept.
    mutating func received(
        informational head: ResponseHead,
        from url: CurlURL,
        isAtOrigin: Bool
    ) -> Bool {
        // One of another iteration is to be ignored (the draft's appendix on draft versions).
        guard step == .whole, head.status == 104, resource == nil,
            head["Upload-Draft-Interop-Version"] == Self.draftVersion
        else { return false }
        do throws(TransferFailure) {
            try name(head, from: url, isAtOrigin: isAtOrigin)
            return true
        } catch {
            // The request continues as one that cannot be resumed.
            return false
        }
    }

    /// Handles the head of the answer to a request for `url`, of whose body `sent` bytes were given
    /// to the connection.
    mutating func received(
        _ head: ResponseHead,
        from url: CurlURL,
        isAtOrigin: Bool,
        sent: Int64
    ) -> Reading {
        guard !head.isRedirect else { return .ordinary }
        do throws(TransferFailure) {
            let next =
                switch step {
                case .whole: try wholeAnswered(head, from: url, isAtOrigin: isAtOrigin, sent)
                case .creation: try created(head, from: url, isAtOrigin: isAtOrigin)
                case .offset: try offsetAnswered(head)
                case .rest(let start): try restAnswered(head, start: start, sent)
                }
            guard let next else { return .ordinary }
            requests += 1
            guard requests <= Self.requestsMax else {
                throw TransferFailure(
                    .badResponse,
                    "The upload did not end within \(Self.requestsMax) requests."
                )
            }
            step = next
            return .next
        } catch {
            return .failed(error)
        }
    }

    private mutating func wholeAnswered(
        _ head: ResponseHead,
        from url: CurlURL,
        isAtOrigin: Bool,
        _ sent: Int64
    ) throws(TransferFailure) -> Step? {
        guard (200...299).contains(head.status) else {
            if isRefusal(head, sent) { giveUpResource() }
            return nil
        }
        guard head.isUploadComplete == false else { return nil }
        // Proxies pass on no 104; the answer names the same place.
        if resource == nil { try name(head, from: url, isAtOrigin: isAtOrigin) }
        return .offset
    }

    /// Whether an answer to the body, or to its rest, is what the origin has made of it.
    ///
    /// That does not change when it is asked for the offset: it would only say that it has all.
    private func isRefusal(_ head: ResponseHead, _ sent: Int64) -> Bool {
        if let isComplete = head.isUploadComplete { return isComplete }
        // A resource outlives the want of a credential, and what a gateway says in its place.
        if !isWhole, [401, 407, 502, 503, 504].contains(head.status) { return false }
        return (400...499).contains(head.status)
            ? ![408, 423, 425, 429].contains(head.status) : sent == length
    }

    private mutating func created(
        _ head: ResponseHead,
        from url: CurlURL,
        isAtOrigin: Bool
    ) throws(TransferFailure) -> Step? {
        guard (200...299).contains(head.status) else { return nil }
        if isCompleteOnceCreated { return nil }
        try name(head, from: url, isAtOrigin: isAtOrigin)
        return .rest(from: 0)
    }

    private mutating func offsetAnswered(_ head: ResponseHead) throws(TransferFailure) -> Step? {
        switch head.status {
        case 404, 410: return try beginAnew()
        case 308 where dialect == .contentRange: return try rest(from: head.rangeUploaded)
        case 200...299:
            guard dialect != .contentRange else { return nil }
            guard head.uploadLength ?? length == length else {
                throw contradicted("The server tells another length of the body.")
            }
            return try isComplete(head) ? nil : rest(from: head.uploadOffset)
        default: return nil
        }
    }

    private mutating func restAnswered(
        _ head: ResponseHead,
        start: Int64,
        _ sent: Int64
    ) throws(TransferFailure) -> Step? {
        switch head.status {
        case 200...299 where dialect != .contentRange:
            if try isComplete(head) { return nil }
            // Of the draft, an answer without a word of completeness says that there is more to
            // come.
            let isBehind = dialect == .ietf && head.uploadOffset.map { $0 == length } ?? true
            return try isBehind ? askAgain() : rest(from: head.uploadOffset, beyond: start)
        case 308 where dialect == .contentRange:
            return try rest(from: head.rangeUploaded, beyond: start)
        case _ where head.isUploadComplete == true: break
        case 404, 410: return try beginAnew()
        case 409 where dialect != .contentRange: return try askAgain()
        default: break
        }
        // Only Google's storage answers the question for the offset with what came of the upload.
        if dialect != .contentRange, isRefusal(head, sent) { giveUpResource() }
        return nil
    }

    /// Returns whether an answer says that the origin has the whole body.
    private mutating func isComplete(_ head: ResponseHead) throws(TransferFailure) -> Bool {
        guard dialect == .ietf else { return head.uploadOffset == length }
        guard head.isUploadComplete == true else { return false }
        guard head.uploadOffset ?? length == length else {
            throw contradicted("The server calls an upload complete of which it has a part.")
        }
        return true
    }

    /// Gives up a resource whose origin contradicts itself.
    ///
    /// - Returns: the failure, after which a request that must not be repeated is not.
    private mutating func contradicted(_ words: String) -> TransferFailure {
        giveUpResource()
        return TransferFailure(isIdempotent ? .badResponse : .unknownOutcome, words)
    }

    /// Returns the step that asks for the offset, because what was sent did not begin there.
    private mutating func askAgain() throws(TransferFailure) -> Step {
        conflicts += 1
        guard conflicts <= Self.conflictsMax else {
            throw TransferFailure(.badResponse, "The server contradicts the offset it has told.")
        }
        return .offset
    }

    /// Returns the step that sends what the origin has not got, beyond what it had before.
    private mutating func rest(
        from offset: Int64?,
        beyond start: Int64 = -1
    ) throws(TransferFailure) -> Step {
        guard let offset else {
            throw TransferFailure(.badResponse, "The server does not tell how much it has.")
        }
        guard offset <= length, offset >= acknowledged, offset > start else {
            throw TransferFailure(
                .badResponse,
                "The server tells offset \(offset) of \(length) bytes after offset \(acknowledged)."
            )
        }
        acknowledged = offset
        return .rest(from: offset)
    }

    /// Returns the first step, once, because the origin no longer has what it had got.
    private mutating func beginAnew() throws(TransferFailure) -> Step {
        giveUpResource()
        guard isIdempotent else {
            throw TransferFailure(
                .unknownOutcome,
                "The server no longer has the upload; it may have acted on it."
            )
        }
        guard !hasBegunAnew else {
            throw TransferFailure(.badResponse, "The server has lost the upload again.")
        }
        hasBegunAnew = true
        acknowledged = 0
        return dialect.namesResourceFirst ? .creation : .whole
    }

    private mutating func giveUpResource() {
        // Also one that is not known to be kept: its storing may still be under way.
        unusable = resource
        resource = nil
        resourceURL = nil
        isKept = false
    }

    private mutating func name(
        _ head: ResponseHead,
        from url: CurlURL,
        isAtOrigin: Bool
    ) throws(TransferFailure) {
        guard let location = head.location, let named = try? url.resolving(location),
            named.absoluteString.utf8.count <= UploadResource.urlBytesMax,
            url.scheme == "http" || named.scheme == "https"
        else {
            throw TransferFailure(.badResponse, "The server does not say where it takes the body.")
        }
        guard sendsBodyToOtherOrigins || named.isSameOrigin(as: origin) else {
            throw TransferFailure(.badRedirect, "The server takes the body at another origin.")
        }
        resourceURL = named
        resource = UploadResource(
            fence: fence,
            dialect: dialect,
            url: named.absoluteString,
            isAtOrigin: isAtOrigin && named.isSameOrigin(as: origin),
            body: body
        )
        isKept = false
        // The new one takes the place of what was kept.
        unusable = nil
    }
}
