import Foundation

/// A token that shows that its holder got the `session.events_finished` it was sent with.
package struct AckToken: Equatable, Sendable {
    /// The length of the proof in bytes.
    package static let proofBytes = 24
    private static let byteCount = 16 + 8 + proofBytes

    package let session: SessionID
    package let sequence: Int64
    /// The proof, derived from the event and a key of the subscription so that nobody else can make
    /// it.
    package let proof: [UInt8]

    package init(session: SessionID, sequence: Int64, proof: [UInt8]) {
        precondition(proof.count == Self.proofBytes, "a proof has \(Self.proofBytes) bytes")
        self.session = session
        self.sequence = sequence
        self.proof = proof
    }

    /// Reads the text of ``serialized``; nil for anything else.
    package init?(serialized text: String) {
        // First of all: to replace in a text of megabytes takes seconds.
        guard text.utf8.count == Self.byteCount / 3 * 4 else { return nil }
        let standard = text.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        guard let bytes = Data(base64Encoded: standard).map(Array.init),
            bytes.count == Self.byteCount
        else { return nil }
        let uuid = bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        let sequence = bytes[16..<24].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        self.init(
            session: SessionID(UUID(uuid: uuid)),
            sequence: Int64(bitPattern: sequence),
            proof: Array(bytes[24...])
        )
    }

    /// The token in base64url (RFC 4648 §5), which needs no padding for these bytes.
    package var serialized: String {
        let bytes =
            withUnsafeBytes(of: session.uuid.uuid) { Array($0) }
            + withUnsafeBytes(of: sequence.bigEndian) { Array($0) } + proof
        return Data(bytes).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
    }
}
