import Crypto
import Foundation
package import TransferModel

/// Seals secrets for the database, and opens them again.
///
/// AES-256-GCM with random nonces (NIST SP 800-38D §8.2.2). Each tenant and purpose has a key of
/// its own, derived by HKDF (RFC 5869), so that a value moved to another tenant does not open, and
/// no key comes near the number of messages that random nonces allow. The row is authenticated with
/// the value, which does not open in another one.
package struct SecretBox: Sendable {
    private static let version: UInt8 = 1
    /// The bytes that a sealed value has beyond the value: version, name of the key, nonce and tag.
    package static let overhead = 1 + 4 + 12 + 16

    private let keys: [SecretsKey]
    private let derived = DerivedKeys()

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
        case tokenEndpoint = "token_endpoint"
        case signingSecret = "signing_secret"
        case subscriptionURL = "subscription_url"
        case subscriptionHeaders = "subscription_headers"
        case sessionHeaders = "session_headers"
        case taskURL = "task_url"
        case taskHeaders = "task_headers"
        case taskBody = "task_body"
        case uploadURL = "upload_url"
        case response
    }

    /// The reasons why a sealed value does not open.
    package enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// The value was sealed with a key that this service does not have.
        case unknownKey(name: [UInt8])
        /// The value was changed, moved, or never sealed by this service.
        case damaged

        package var description: String {
            switch self {
            case .unknownKey(let name):
                "the key whose SHA-256 starts with \(name.hexadecimal) is missing"
            case .damaged: "it was changed or moved"
            }
        }
    }

    /// The name of the key that seals.
    package var sealingKeyName: [UInt8] { keys[0].name }
    /// The names of all keys, which open.
    package var keyNames: [[UInt8]] { keys.map(\.name) }

    /// Returns whether a value was sealed with another key than the one that seals now.
    package func isSealedWithOlderKey(_ sealed: [UInt8]) -> Bool {
        sealed.count > 5 && !sealed[1..<5].elementsEqual(sealingKeyName)
    }

    /// Returns the bytes for the database: version, name of the key, nonce, ciphertext and tag.
    ///
    /// The value opens only with the same `row`, which need not be secret.
    package func seal(
        _ bytes: [UInt8],
        for purpose: Purpose,
        of tenant: TenantID,
        in row: [UInt8]
    ) throws(Failure) -> [UInt8] {
        let key = keys[0]
        do {
            let box = try AES.GCM.seal(
                bytes,
                using: derived.key(from: key, for: purpose, of: tenant),
                authenticating: row
            )
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
        of tenant: TenantID,
        in row: [UInt8]
    ) throws(Failure) -> [UInt8] {
        guard sealed.count > 5, sealed[0] == Self.version else { throw .damaged }
        guard let key = keys.first(where: { $0.name.elementsEqual(sealed[1..<5]) }) else {
            throw .unknownKey(name: Array(sealed[1..<5]))
        }
        do {
            let box = try AES.GCM.SealedBox(combined: sealed[5...])
            return Array(
                try AES.GCM.open(
                    box,
                    using: derived.key(from: key, for: purpose, of: tenant),
                    authenticating: row
                )
            )
        } catch {
            throw .damaged
        }
    }
}
