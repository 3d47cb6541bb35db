import Curl
import TransferModel

/// The reaction of one attempt to the responses it gets; it only decides and carries nothing out.
struct ResponseStateMachine {
    /// How the attempt has ended.
    enum End {
        /// The body is complete.
        case finished(TransferResult)
        case failed(TransferFailure)
        /// Stopped from our side: cancelled, revoked or shut down.
        case abandoned
    }

    /// The number of bytes of an answer's body that are read only to keep the connection.
    static let discardedBytesMax = 64 * 1024

    enum HeadAction {
        /// Write the body to a new part file.
        case receive
        /// Append the body to the part file being resumed.
        case append
        /// Read the body, up to a limit, to keep the connection, and drop it.
        case discard
        case abort
    }

    enum FinishAction {
        /// Ask again there; the attempt continues.
        case follow(CurlURL, dropsSecrets: Bool)
        /// Ask again: for the whole file, because what was kept does not match what the origin has
        /// now, or with the request to which the answer has led.
        case restart
        case end(End)
    }

    private enum State {
        /// The request is on its way; nothing of its response has arrived.
        case requested
        /// A 2xx response's body is arriving.
        case receiving(ResponseHead)
        /// The rest of the body is arriving.
        case appending(ResponseHead, ResumePoint)
        /// An answer is arriving that does not fit what was kept, or only leads to another request.
        case restarting
        /// The body of a redirect is arriving; the next request follows it.
        case redirecting(CurlURL)
        /// The body of an answer that fails the attempt is arriving.
        case failing(TransferFailure)
        /// Stopped from our side; what still arrives is ignored.
        case abandoned
        case ended
    }

    /// The first missing range of the body.
    struct ResumePoint: Equatable {
        /// The bytes to ask for, not the whole file.
        let range: Range<Int64>
        let total: Int64
        let validator: EntityValidator
        /// The coding of the bytes that are there; nil without one.
        var coding: String?
        /// Whether the bytes may be from another server, so that a part which does not say whose it
        /// is proves nothing.
        var mayBeOfAnother = false
    }

    private var state = State.requested
    private(set) var url: CurlURL
    private(set) var redirects = 0
    private let redirectsMax: Int
    /// The next request, if it has a body that other origins must not get.
    private var guarded: TransferRequest?
    private let expectedSize: Int64?
    private let bodyBytesMax: Int64
    private let hasContent: Bool
    private let deliversErrors: Bool
    private let hasDestination: Bool
    private let isAtMirror: Bool
    /// The range that the next request asks for; nil to ask for all.
    private(set) var resumePoint: ResumePoint?

    /// Creates the reaction of an attempt that begins at `url`.
    ///
    /// Without `hasContent` the responses only describe a file, as those to HEAD do (RFC 9110
    /// §9.3.2). A result of more than `bodyBytesMax` fails the attempt as soon as it is announced.
    /// With `hasDestination` a 304 fails it as well, for the file that is there must stay.
    init(
        url: CurlURL,
        redirectsMax: Int,
        guarding request: TransferRequest? = nil,
        expectedSize: Int64? = nil,
        bodyBytesMax: Int64 = .max,
        hasContent: Bool = true,
        deliversErrors: Bool = false,
        hasDestination: Bool = false,
        isAtMirror: Bool = false,
        resumePoint: ResumePoint? = nil
    ) {
        self.url = url
        self.redirectsMax = redirectsMax
        guarded = request
        self.expectedSize = expectedSize
        self.bodyBytesMax = bodyBytesMax
        self.hasContent = hasContent
        self.deliversErrors = deliversErrors
        self.hasDestination = hasDestination
        self.isAtMirror = isAtMirror
        self.resumePoint = resumePoint
    }

    /// Whether a request may be sent; false once the attempt has failed or is no longer wanted.
    var mayRequest: Bool {
        if case .requested = state { true } else { false }
    }

    /// Resumes the file of an earlier attempt; called before the first request.
    mutating func resume(at point: ResumePoint) { resumePoint = point }

    /// Records that the arriving answer only leads to another request.
    mutating func leadsOn() {
        if case .requested = state { state = .restarting }
    }

    /// Handles the head of a response.
    mutating func received(_ head: ResponseHead) -> HeadAction {
        guard case .requested = state else { return .abort }
        if Self.isRedirect(head.status), !deliversErrors || canFollow(head) {
            do throws(TransferFailure) {
                state = .redirecting(try target(of: head))
                guarded = guarded?.redirected(status: head.status)
            } catch {
                state = .failing(error)
            }
            return .discard
        }
        if let resumePoint {
            switch head.status {
            case 206 where continues(head, from: resumePoint):
                if let expectedSize, resumePoint.total != expectedSize {
                    state = .failing(.sizeMismatch(resumePoint.total, expected: expectedSize))
                    return .discard
                }
                state = .appending(head, resumePoint)
                return .append
            case 206, 416:
                // A part other than the one asked for, or none: nothing that may be mixed in.
                state = .restarting
                return .discard
            case 200...299:
                // The representation has changed, or the origin knows no ranges.
                self.resumePoint = nil
            default: break
            }
        }
        if let failure = failure(of: head) {
            state = .failing(failure)
            return .discard
        }
        state = .receiving(head)
        return .receive
    }

    /// Returns the reason why a response is not the result, as far as its head tells.
    private func failure(of head: ResponseHead) -> TransferFailure? {
        // A 304 says that the client has the file (RFC 9110 §15.4.5); it brings none.
        let delivers = deliversErrors && !(hasDestination && head.status == 304)
        let isDeliveredError = !(200...299).contains(head.status) && delivers
        if !isDeliveredError, let failure = TransferFailure(head) { return failure }
        if hasContent, head.contentLength ?? 0 > bodyBytesMax {
            return TransferFailure(CurlError(.bodyTooLarge))
        }
        guard !isDeliveredError, let expectedSize, let length = head.contentLength,
            length != expectedSize
        else { return nil }
        return .sizeMismatch(length, expected: expectedSize)
    }

    private func canFollow(_ head: ResponseHead) -> Bool {
        head.location != nil && redirects < redirectsMax
    }

    /// Whether a 206 is exactly what was asked for, of the very same file (RFC 9110 §15.3.7).
    private func continues(_ head: ResponseHead, from point: ResumePoint) -> Bool {
        guard let field = head["Content-Range"], let sent = ContentRange(field),
            // It need not name the coding of the whole, but must not name another one.
            head.coding == nil || head.coding == point.coding
        else { return false }
        // A redirect may lead to another server each time.
        if point.mayBeOfAnother || redirects > 0 {
            let isProof = point.validator.isEntityTag && head["ETag"] != nil && sent.total != nil
            guard isProof else { return false }
        }
        return sent.range == point.range && sent.total ?? point.total == point.total
            && head.contentLength ?? point.range.byteCount == point.range.byteCount
            && point.validator.agrees(etag: head["ETag"], lastModified: head["Last-Modified"])
    }

    /// Handles bytes that arrive, with which the body has `count`.
    ///
    /// - Returns: false if a result has more than are expected, which fails the attempt.
    mutating func received(bytes count: Int64) -> Bool {
        guard let expectedSize, count > expectedSize else { return true }
        switch state {
        case .receiving(let head) where !(200...299).contains(head.status): return true
        case .receiving, .appending:
            state = .failing(.sizeMismatch(moreThan: expectedSize))
            return false
        case .requested, .restarting, .redirecting, .failing, .abandoned, .ended: return true
        }
    }

    /// Records that the file could not be created or written, or has grown too large.
    mutating func failed(_ failure: TransferFailure) {
        switch state {
        case .requested, .receiving, .appending, .redirecting, .restarting, .failing:
            state = .failing(failure)
        case .abandoned, .ended: break
        }
    }

    /// Records that the attempt is no longer wanted.
    mutating func abandoned() {
        switch state {
        case .requested, .receiving, .appending, .redirecting, .restarting, .failing:
            state = .abandoned
        case .abandoned, .ended: break
        }
    }

    /// Handles the end of a request in libcurl.
    mutating func finished(
        _ result: Result<CurlSummary, CurlError>,
        bytesWritten: Int64
    ) -> FinishAction {
        switch (state, result) {
        case (.receiving(let head), .success(let summary)):
            return finish(
                head,
                bytesWritten: bytesWritten,
                isLengthVerified: summary.isLengthVerified
            )
        case (.appending(let head, let point), .success):
            guard bytesWritten == point.total else {
                state = .ended
                return .end(
                    .failed(
                        TransferFailure(
                            .lengthMismatch,
                            "The rest of the body has another length than was announced."
                        )
                    )
                )
            }
            return finish(head, bytesWritten: bytesWritten, isLengthVerified: true)
        case (.restarting, _):
            resumePoint = nil
            state = .requested
            return .restart
        case (.redirecting(let next), .success), (.redirecting(let next), .failure):
            // The fate of a redirect's body does not matter.
            let dropsSecrets = !next.isSameOrigin(as: url)
            url = next
            redirects += 1
            state = .requested
            return .follow(next, dropsSecrets: dropsSecrets)
        case (.failing(let failure), _):
            state = .ended
            return .end(.failed(failure))
        case (.requested, .failure(let error)), (.receiving, .failure(let error)),
            (.appending, .failure(let error)):
            state = .ended
            return .end(.failed(TransferFailure(error)))
        case (.requested, .success):
            state = .ended
            return .end(.failed(TransferFailure(.badResponse, "The server sent no response.")))
        case (.abandoned, _), (.ended, _):
            state = .ended
            return .end(.abandoned)
        }
    }

    private mutating func finish(
        _ head: ResponseHead,
        bytesWritten: Int64,
        isLengthVerified: Bool
    ) -> FinishAction {
        state = .ended
        if hasContent, let expectedSize, (200...299).contains(head.status),
            bytesWritten != expectedSize
        {
            return .end(.failed(.sizeMismatch(bytesWritten, expected: expectedSize)))
        }
        return .end(
            .finished(
                TransferResult(
                    httpStatus: head.status,
                    bytesReceived: bytesWritten,
                    fields: KeptFields(of: head.headers, describingContent: !hasContent),
                    isLengthVerified: isLengthVerified,
                    suggestedFileName: SuggestedFileName.of(
                        contentDisposition: head["Content-Disposition"],
                        url: url.absoluteString
                    ),
                    finalURL: redirects > 0 || isAtMirror ? url.absoluteString : nil
                )
            )
        )
    }

    /// Whether a status names another place for the same GET (RFC 9110 §15.4).
    private static func isRedirect(_ status: Int) -> Bool {
        [301, 302, 303, 307, 308].contains(status)
    }

    private func target(of head: ResponseHead) throws(TransferFailure) -> CurlURL {
        func refuse(_ why: String) -> TransferFailure {
            TransferFailure(.badRedirect, why, httpStatus: head.status)
        }
        guard redirects < redirectsMax else {
            throw refuse("The server redirected more than \(redirectsMax) times.")
        }
        guard let location = head.location else {
            throw refuse("The server redirected without saying where to.")
        }
        guard let next = try? url.resolving(location) else {
            throw refuse("The server redirected to something that is not an http or https URL.")
        }
        guard url.scheme == "http" || next.scheme == "https" else {
            throw refuse("The server redirected from https to http.")
        }
        guard
            next.isSameOrigin(as: url)
                || guarded?.redirected(status: head.status).upload == nil
        else {
            throw refuse("The server redirected the body to another origin.")
        }
        return next
    }
}

extension TransferFailure {
    fileprivate static func sizeMismatch(_ size: Int64, expected: Int64) -> TransferFailure {
        TransferFailure(.sizeMismatch, "The file has \(size) bytes where \(expected) are expected.")
    }

    fileprivate static func sizeMismatch(moreThan expected: Int64) -> TransferFailure {
        TransferFailure(
            .sizeMismatch,
            "The file has more than the \(expected) bytes that are expected."
        )
    }
}

extension ResponseHead {
    /// The place that `Location` names; nil without one.
    ///
    /// An empty value would mean the URL that was asked (RFC 3986 §5.2.2), which is no other place.
    var location: String? { self["Location"].flatMap { $0.isEmpty ? nil : $0 } }

    /// The coding of the body, as `Content-Encoding` names it; nil without one.
    var coding: String? {
        guard let field = self["Content-Encoding"]?.lowercased(), !field.isEmpty,
            field != "identity"
        else { return nil }
        return field
    }
}

extension CurlRequest {
    /// Asks for the bytes from `point` on, or for the whole file if it is another by now.
    mutating func resume(at point: ResponseStateMachine.ResumePoint) {
        headers += [
            ("Range", point.range.field(total: point.total)), ("If-Range", point.validator.value),
        ]
    }
}
