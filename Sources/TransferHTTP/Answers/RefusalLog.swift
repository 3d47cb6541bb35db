import Hummingbird
import Logging
import NIOCore
import Synchronization
import TransferModel
import TransferWire

/// Logs requests that are refused because of who sends them, or how many: 401, 403 and 429.
///
/// A flood of them is counted rather than written, and hides none of another tenant.
final class RefusalLog: Sendable {
    /// The statuses that are logged.
    static let statuses: Set<Int> = [401, 403, 429]

    private let budgets = Mutex(RefusalBudgets())
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// Logs a refusal, with the reason that the client is told and the identifier of the key that
    /// was sent, if there was one.
    func add(
        _ problem: Problem,
        _ request: Request,
        _ context: APIContext,
        _ caller: Caller?,
        requestID: String
    ) {
        let line = budgets.withLock { $0.take(for: caller?.tenant, at: .now) }
        guard let unwritten = line?.unwritten else { return }
        var metadata: Logger.Metadata = [
            "request_id": "\(requestID)", "status": "\(problem.code.status)",
            "code": "\(problem.code.rawValue)", "method": "\(request.method.rawValue)",
            "peer": "\(context.channel.remoteAddress?.ipAddress ?? "-")",
        ]
        if let id = caller?.key ?? Authenticator.identifier(of: request.headers) {
            metadata["key_id"] = "\(id)"
        }
        if let caller { metadata["tenant"] = "\(caller.tenant)" }
        if let limit = problem.quota?.limit.rawValue ?? problem.sharedLimit?.rawValue {
            metadata["limit"] = "\(limit)"
        }
        if let scope = problem.scope { metadata["scope"] = "\(scope.rawValue)" }
        if unwritten > 0 { metadata["unwritten_before"] = "\(unwritten)" }
        logger.notice("request refused", metadata: metadata)
    }
}
