import Crypto
import Foundation
import Synchronization
import TransferModel

/// The keys of tenants and purposes, derived once and kept for the next value.
///
/// A derivation costs several times as much as sealing a short value.
final class DerivedKeys: Sendable {
    /// The number of keys that are kept; beyond it, all are derived again.
    private static let keptMax = 4096

    private struct Name: Hashable {
        let key: [UInt8]
        let purpose: SecretBox.Purpose
        let tenant: TenantID
    }

    private let kept = Mutex<[Name: SymmetricKey]>([:])

    func key(
        from key: SecretsKey,
        for purpose: SecretBox.Purpose,
        of tenant: TenantID
    ) -> SymmetricKey {
        let name = Name(key: key.name, purpose: purpose, tenant: tenant)
        if let found = kept.withLock({ $0[name] }) { return found }
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key.key,
            info: Data("transferd \(purpose.rawValue) \(tenant)".utf8),
            outputByteCount: SecretsKey.byteCount
        )
        kept.withLock { kept in
            if kept.count >= Self.keptMax { kept.removeAll(keepingCapacity: true) }
            kept[name] = derived
        }
        return derived
    }
}
