import Crypto
import Foundation
package import TransferModel

/// Seals secrets for the database, and opens them again.
///
/// AES-256-GCM with random nonces (NIST SP 800-38D §8.2.2). Each tenant and purpose has a key of
/// its own, derived by HKDF (RFC 5869), so that a value moved to another tenant does not open, and
/// no key comes near the number of messages that random nonces allow.
package struct SecretBox: Sendable {
    private static let version: UInt8 = 1

    private let keys: [SecretsKey]

    /// Creates a box whose first key seals; the others only open what they have sealed before.
    ///
    /// - Returns: nil without a key.
    package init?(keys: [SecretsKey]) {
        guard !keys.isEmpty else { return nil }
        self.keys = keys
    }

    /// The purpose of a secret; a value sealed for one purpose does not open for another.
    package enum Purpose: String, Sendable {
        case credential
        case accessToken = "access_token"
    }

    /// The reasons why a sealed value does not open.
    package enum Failure: Error, Equatable, Sendable {
        /// The value was sealed with a key that this service does not have.
        case unknownKey
        /// The value was changed, moved, or never sealed by this service.
        case damaged
    }

    /// Returns the bytes for the database: version, name of the key, nonce, ciphertext and tag.
    package func seal(
        _ bytes: [UInt8],
        for purpose: Purpose,
        of tenant: TenantID
    ) throws(Failure) -> [UInt8] {
        let key = keys[0]
        do {
            let box = try AES.GCM.seal(bytes, using: Self.derive(key, purpose, tenant))
            guard let combined = box.combined else { throw Failure.damaged }
            return [Self.version] + key.name + combined
        } catch {
            throw .damaged
        }
    }

    /// Returns the value that was sealed.
    package func open(
        _ sealed: [UInt8],
        for purpose: Purpose,
        of tenant: TenantID
    ) throws(Failure) -> [UInt8] {
        guard sealed.count > 5, sealed[0] == Self.version else { throw .damaged }
        guard let key = keys.first(where: { $0.name.elementsEqual(sealed[1..<5]) }) else {
            throw .unknownKey
        }
        do {
            let box = try AES.GCM.SealedBox(combined: sealed[5...])
            return Array(try AES.GCM.open(box, using: Self.derive(key, purpose, tenant)))
        } catch {
            throw .damaged
        }
    }

    private static func derive(
        _ key: SecretsKey,
        _ purpose: Purpose,
        _ tenant: TenantID
    ) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key.key,
            info: Data("transferd \(purpose.rawValue) \(tenant)".utf8),
            outputByteCount: SecretsKey.byteCount
        )
    }
}
