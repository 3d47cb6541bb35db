import Curl
import TransferModel

/// What attempts tell of their hosts.
extension Claimer {
    /// An attempt was answered, which may be with an error that is delivered as any other result.
    func noteAnswer(
        of claim: TaskClaim,
        _ result: TransferResult,
        _ metrics: AttemptMetrics,
        bytes: Int64
    ) {
        reachability.note(claim, failure: nil, metrics)
        scheduler.learn(HostPace.Signal(status: result.httpStatus), from: claim, bytes: bytes)
    }

    /// An attempt has failed; at another host, after a redirect, that says nothing of its own.
    func noteFailure(of claim: TaskClaim, _ failure: TransferFailure, at url: CurlURL, bytes: Int64)
    {
        guard Lane(host: url.host, port: Int(url.port)) == claim.lane else { return }
        scheduler.learn(HostPace.Signal(failure), from: claim, bytes: bytes)
    }

    /// Ends a claim of a task whose host is closed, without asking it: the task waits for the host if
    /// it wants to, and else this was one of its attempts.
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

extension HostPace.Signal {
    /// What the status of an answer says: 429, 502, 503 and 504 that it is too much (RFC 6585 §4, RFC
    /// 9110 §15.6).
    fileprivate init(status: Int) {
        self = [429, 502, 503, 504].contains(status) ? .refused(status: status) : .answered
    }

    fileprivate init(_ failure: TransferFailure) {
        switch failure.code {
        case .httpStatus: self.init(status: failure.httpStatus ?? 0)
        case .couldNotConnect, .timedOut, .connectionLost, .lengthMismatch:
            self = .failed(failure.code)
        default: self = .nothing
        }
    }
}
