import Curl
import TransferModel
import TransferStore

/// The effects of attempts on the state of their hosts, here and in the database.
struct HostReporter {
    let hosts: HostStore
    let queue: QueueStore
    let reachability: Reachability
    let fairShare: SharedFairShare

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
        learn(HostPace.Report(status: result.httpStatus), of: claim, metrics, at: url, bytes)
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
        // All spellings of a host share its pace, but not its addresses: what this one does not
        // reach may be there.
        var heard = failure
        if !HostKey.isCanonical(url.host) { heard.isAboutHost = false }
        let wait = reachability.note(claim, failure: heard, metrics)
        let paced = metrics.remoteAddress == nil ? heard : failure
        let report = claim.hasPatience(for: failure, metrics) ? HostPace.Report(paced) : .nothing
        learn(report, of: claim, metrics, at: url, bytes)
        return wait
    }

    private func learn(
        _ report: HostPace.Report,
        of claim: TaskClaim,
        _ metrics: AttemptMetrics,
        at url: CurlURL,
        _ bytes: Int64
    ) {
        // The behaviour of another host, reached by a redirect, says nothing about the task's own
        // host, which has answered.
        let isElsewhere =
            metrics.redirects > 0 && HostKey(host: url.host, port: Int(url.port)) != claim.hostKey
        fairShare.learn(isElsewhere ? .answered : report, from: claim, bytes: bytes)
    }

    /// Stores the decisions about hosts.
    func store() async throws(StoreError) {
        let changes = fairShare.takeChanges()
        do throws(StoreError) {
            try await hosts.record(changes)
        } catch {
            // A change that the database refuses once it refuses for ever, along with all changes
            // in the same batch.
            if case .unavailable = error { fairShare.putBack(changes) }
            throw error
        }
    }

    /// Makes tasks runnable that waited for hosts which have been reached, page by page.
    ///
    /// - Parameter onRunnable: called after each page, with some of the hosts.
    /// - Throws: ``StoreError`` when the database does not answer.
    func releaseReached(onRunnable: (Set<HostKey>) -> Void) async throws(StoreError) {
        let hosts = reachability.takeOpened()
        guard !hosts.isEmpty else { return }
        let named = Set(hosts.prefix(Signal.hostsMax))
        while try await queue.release(hostKeys: hosts) > 0 { onRunnable(named) }
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

extension HostPace.Report {
    /// The report that the status of an answer gives: 429, 502, 503 and 504 say that the load is
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
