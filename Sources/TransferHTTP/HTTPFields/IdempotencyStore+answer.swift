import TransferModel
import TransferStore
import TransferWire

extension IdempotencyStore {
    /// Returns the earlier answer to the same request.
    ///
    /// - Throws: ``Problem`` when the key belongs to another request.
    func earlierAnswer(_ key: IdempotencyKey, tenant: TenantID) async throws -> Answer? {
        let found = try await lookUp(
            idempotencyKey: key.key,
            requestSHA256: key.requestSHA256,
            tenant: tenant
        )
        return switch found {
        case .none: nil
        case .replay(let response): try Answer(replaying: response)
        case .mismatch: throw Problem(.idempotencyKeyReused)
        }
    }
}
