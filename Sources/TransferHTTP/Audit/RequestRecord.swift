import Foundation
import HTTPTypes
import Hummingbird
import TransferModel
import TransferStore

/// What is known of a request when it is answered, for the logs.
struct RequestRecord {
    let id: UUID
    /// The holder of the key, once that is known.
    var caller: Caller?
    /// What the tenant may still send, if it has a limit.
    var rate: RequestRate.State?
    /// What may still be sent with the key, if it has a limit.
    var keyRate: RequestRate.State?
    /// The audit entry that a change takes along; nil before the request was allowed, and for one
    /// that only reads.
    var slot: AuditSlot?
    /// What the request has of what all share; nil before it was allowed.
    var resources: RequestResources?

    /// Returns the audit entry of the request.
    func entry(of request: Request, _ context: APIContext) -> AuditEntry {
        AuditEntry(
            requestID: id,
            actor: caller?.key ?? Authenticator.identifier(of: request.headers),
            tenant: caller?.tenant,
            peer: context.channel.remoteAddress?.ipAddress,
            action: request.method.rawValue,
            object: request.uri.path
        )
    }
}

extension AuditTrail {
    /// Records the end of a call that no change has recorded, or whose answer is a problem.
    func add(
        _ request: Request,
        _ context: APIContext,
        _ record: RequestRecord,
        status: Int,
        code: String? = nil
    ) {
        let isRefused = RefusalLog.statuses.contains(status)
        guard isRefused || (record.slot.map { status >= 400 || !$0.isRecorded } ?? false) else {
            return
        }
        var entry = record.slot?.entry ?? record.entry(of: request, context)
        entry.status = status
        entry.code = code
        if isRefused { add(refusal: entry) } else { add(entry) }
    }
}
