import Curl
import TransferModel

/// The effects of attempts on the state of their hosts.
extension Claimer {
    /// Records that an attempt was answered, possibly with an error that is delivered like any
    /// other result.
    func noteAnswer(
        of claim: TaskClaim,
        _ result: TransferResult,
        _ metrics: AttemptMetrics,
        at url: CurlURL,
        bytes: Int64
    ) {
        reachability.note(claim, failure: nil, metrics)
        learn(HostPace.Signal(status: result.httpStatus), of: claim, metrics, at: url, bytes)
    }

    /// Records that an attempt has failed.
    ///
    /// - Returns: how long its task waits, if it waits for connectivity and the host was not
    ///   reached.
    func noteFailure(
        of claim: TaskClaim,
        _ failure: TransferFailure,
        _ metrics: AttemptMetrics,
        at url: CurlURL,
        bytes: Int64
    ) -> Duration? {
        let wait = reachability.note(claim, failure: failure, metrics)
        let signal =
            claim.hasPatience(for: failure, metrics) ? HostPace.Signal(failure) : .nothing
        learn(signal, of: claim, metrics, at: url, bytes)
        return wait
    }

    private func learn(
        _ signal: HostPace.Signal,
        of claim: TaskClaim,
        _ metrics: AttemptMetrics,
        at url: CurlURL,
        _ bytes: Int64
    ) {
        // The behaviour of another host, reached by a redirect, says nothing about the task's own
        // host, which has answered.
        let isElsewhere =
            metrics.redirects > 0 && Lane(host: url.host, port: Int(url.port)) != claim.lane
        scheduler.learn(isElsewhere ? .answered : signal, from: claim, bytes: bytes)
    }

    /// Ends a claim of a task whose host is closed, without a request to the host: the task waits
    /// for the host if it waits for connectivity; otherwise this counts as one of its attempts.
    func putOff(_ claim: TaskClaim, while wait: Duration) {
        let failure = TransferFailure(
            .couldNotConnect,
            "The host has not been reached for a while; it is tried by one attempt at a time."
        )
        let remaining = claim.timeoutForResource - claim.elapsed
        let verdict =
            claim.options.waitsForConnectivity ?? false
            ? Conclusion.Verdict.waitForConnectivity(failure, after: wait)
            : decision(after: failure, claim, remaining: remaining)
        end(claim, verdict)
    }
}

extension TaskClaim {
    /// Whether the host had at least the default time before the attempt timed out; otherwise a
    /// task with a shorter timeout would throttle the host for everybody.
    fileprivate func hasPatience(for failure: TransferFailure, _ metrics: AttemptMetrics) -> Bool {
        guard failure.code == .timedOut else { return true }
        let patience = min(timeoutForRequest, options.timeoutForFirstByte ?? timeoutForRequest)
        let isConnected = metrics.remoteAddress != nil
        return patience
            >= (isConnected
                ? SessionConfiguration.timeoutForRequestDefault : CurlRequest.connectTimeoutDefault)
    }
}

extension HostPace.Signal {
    /// The signal that the status of an answer gives: 429, 502, 503 and 504 say that the load is
    /// too high (RFC 6585 §4, RFC 9110 §15.6).
    fileprivate init(status: Int) {
        self = [429, 502, 503, 504].contains(status) ? .refused(status: status) : .answered
    }

    fileprivate init(_ failure: TransferFailure) {
        guard failure.isAboutHost else {
            self = .nothing
            return
        }
        switch failure.code {
        case .httpStatus: self.init(status: failure.httpStatus ?? 0)
        case .couldNotConnect, .timedOut, .connectionLost, .lengthMismatch:
            self = .failed(failure.code)
        default: self = .nothing
        }
    }
}
