import Crypto
public import Foundation

/// A verifier that checks messages as a receiver must, by Standard Webhooks 1.0.
public struct WebhookVerifier: Sendable {
    /// The most by which a message's clock may differ from ours in either direction.
    public static let tolerance: Duration = .seconds(300)
    /// The most signatures of one message that are checked.
    public static let signaturesMax = 32

    private let secrets: [SigningSecret]

    /// Creates a verifier that accepts a signature by any of `secrets`.
    public init(secrets: [SigningSecret]) { self.secrets = secrets }

    /// Returns when the message is authentic and fresh.
    ///
    /// - Parameters:
    ///   - headers: the request's headers, in any case and order.
    ///   - body: the bytes as they arrived.
    ///   - now: the receiver's time.
    /// - Throws: ``WebhookVerificationError`` when the message is not to be acted upon.
    public func verify(
        headers: [(name: String, value: String)],
        body: [UInt8],
        now: Date = Date()
    ) throws(WebhookVerificationError) {
        func header(_ name: String) throws(WebhookVerificationError) -> String {
            guard let header = headers.first(where: { $0.name.lowercased() == name }) else {
                throw .missingHeader(name)
            }
            return header.value
        }
        let id = try header(WebhookSignature.Header.id)
        let timestamp = try Self.timestamp(try header(WebhookSignature.Header.timestamp))
        let list = try header(WebhookSignature.Header.signature)
        let tolerance = Double(Self.tolerance.components.seconds)
        // Floating point cannot overflow on any difference, and is exact for centuries around now.
        guard abs(Double(timestamp) - now.timeIntervalSince1970) <= tolerance else {
            throw .timestampOutOfTolerance
        }
        guard isSigned(list, id: id, timestamp: timestamp, body: body) else {
            throw .noMatchingSignature
        }
    }

    private static func timestamp(_ text: String) throws(WebhookVerificationError) -> Int64 {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text) else {
            throw .invalidTimestamp
        }
        return seconds
    }

    private func isSigned(_ list: String, id: String, timestamp: Int64, body: [UInt8]) -> Bool {
        // As bytes: anybody can send a text whose characters take seconds to compare.
        for entry in list.utf8.split(separator: UInt8(ascii: " ")).prefix(Self.signaturesMax) {
            let parts = entry.split(separator: UInt8(ascii: ","), maxSplits: 1)
            guard parts.count == 2, parts[0].elementsEqual(WebhookSignature.version.utf8),
                let signature = Data(base64Encoded: Data(parts[1]))
            else { continue }
            let matches = secrets.contains { secret in
                // HMAC's comparison takes the same time wherever the first difference is.
                WebhookSignature.code(id: id, timestamp: timestamp, body: body, secret: secret)
                    .finalize() == signature
            }
            if matches { return true }
        }
        return false
    }
}
