import Curl
import Logging
import TransferStore

/// The probe that finds out whether the network can be reached, for requests that require it.
struct NetworkProbe: Sendable {
    /// The time between two probes.
    static let interval: Duration = .seconds(5)
    /// The longest time until the response.
    private static let timeout: Duration = .seconds(4)

    /// The URL of something outside that nearly always answers; any response will do.
    let url: String
    let curl: CurlLoop
    let egress: EgressGuard
    let status: NetworkStatus
    let timers: TimerStore
    let logger: Logger
    /// Called when requests have become due.
    let onTimers: @Sendable () -> Void

    /// Probes once, and makes those requests due that have waited for the network.
    func turn() async throws(StoreError) -> Chore.Next {
        let isReachable = await hasResponse()
        // A network that is there at the start is no news.
        if status.note(isReachable: isReachable) ?? true != isReachable {
            logger.notice("network", metadata: ["reachable": "\(isReachable)"])
        }
        guard isReachable else { return .rest }
        // Not only when it has come back: another instance may have found that it was away.
        let released = try await timers.releaseForNetwork()
        if released > 0 { onTimers() }
        return Chore.Next(isMore: released == TimerStore.turnMax)
    }

    private func hasResponse() async -> Bool {
        var request = CurlRequest(url: url, method: "HEAD", egress: egress)
        request.connectTimeout = Self.timeout
        request.totalTimeout = Self.timeout
        do throws(CurlError) {
            _ = try await curl.fetch(request, bodyMax: 0)
            return true
        } catch {
            logger.debug("network probe failed", metadata: ["error": "\(error.code)"])
            return false
        }
    }
}
