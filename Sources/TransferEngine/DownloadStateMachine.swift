import Curl
import TransferModel

/// What one attempt does with the responses it gets; decides, and does nothing itself.
struct DownloadStateMachine {
    /// How the attempt ended.
    enum End {
        /// The body is whole.
        case finished(TransferResult)
        case failed(TransferFailure)
        /// Stopped from our side: cancelled, revoked or shut down.
        case abandoned
    }

    enum HeadAction {
        /// Write the body to the part file.
        case receive
        /// Read the body to keep the connection, up to a bound, and drop it.
        case discard
        case abort
    }

    enum FinishAction {
        /// Ask again there; the attempt goes on.
        case follow(CurlURL, dropsSecrets: Bool)
        case end(End)
    }

    private enum State {
        /// The request is on its way; nothing of this response has come.
        case requested
        /// A 2xx response's body is arriving.
        case receiving(ResponseHead)
        /// The body of a redirect is arriving; the next request follows it.
        case redirecting(CurlURL)
        /// The body of an answer that fails the attempt is arriving.
        case failing(TransferFailure)
        /// Stopped from our side; what still arrives is ignored.
        case abandoned
        case ended
    }

    private var state = State.requested
    private var url: CurlURL
    private var redirects = 0
    private let redirectsMax: Int

    init(url: CurlURL, redirectsMax: Int) {
        self.url = url
        self.redirectsMax = redirectsMax
    }

    /// A response's head has arrived.
    mutating func received(_ head: ResponseHead) -> HeadAction {
        guard case .requested = state else { return .abort }
        if Self.isRedirect(head.status) {
            do throws(TransferFailure) {
                state = .redirecting(try target(of: head))
            } catch {
                state = .failing(error)
            }
            return .discard
        }
        if let failure = TransferFailure(head) {
            state = .failing(failure)
            return .discard
        }
        state = .receiving(head)
        return .receive
    }

    /// The file could not be made or written, or has grown too large.
    mutating func failed(_ failure: TransferFailure) {
        switch state {
        case .requested, .receiving, .redirecting, .failing: state = .failing(failure)
        case .abandoned, .ended: break
        }
    }

    /// The attempt is no longer wanted.
    mutating func abandoned() {
        switch state {
        case .requested, .receiving, .redirecting, .failing: state = .abandoned
        case .abandoned, .ended: break
        }
    }

    /// libcurl is done with the request.
    mutating func finished(
        _ result: Result<CurlSummary, CurlError>,
        bytesWritten: Int64
    ) -> FinishAction {
        switch (state, result) {
        case (.receiving(let head), .success(let summary)):
            state = .ended
            return .end(
                .finished(
                    TransferResult(
                        httpStatus: head.status,
                        bytesReceived: bytesWritten,
                        contentType: head["Content-Type"]?.bounded,
                        etag: head["ETag"]?.bounded,
                        isLengthVerified: summary.isLengthVerified
                    )
                )
            )
        case (.redirecting(let next), .success), (.redirecting(let next), .failure):
            // What becomes of a redirect's body does not matter.
            let dropsSecrets = !next.isSameOrigin(as: url)
            url = next
            redirects += 1
            state = .requested
            return .follow(next, dropsSecrets: dropsSecrets)
        case (.failing(let failure), _):
            state = .ended
            return .end(.failed(failure))
        case (.requested, .failure(let error)), (.receiving, .failure(let error)):
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

    /// RFC 9110 §15.4: those that name another place for the same GET.
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
        guard let location = head["Location"] else {
            throw refuse("The server redirected without saying where to.")
        }
        guard let next = try? url.resolving(location) else {
            throw refuse("The server redirected to something that is not an http or https URL.")
        }
        guard url.scheme == "http" || next.scheme == "https" else {
            throw refuse("The server redirected from https to http.")
        }
        return next
    }
}

extension String {
    /// The longest response field that is kept.
    private static let fieldBytesMax = 255

    /// Nil when it is longer than what is kept or holds a control character.
    fileprivate var bounded: String? {
        utf8.count <= Self.fieldBytesMax && utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            ? self : nil
    }
}
