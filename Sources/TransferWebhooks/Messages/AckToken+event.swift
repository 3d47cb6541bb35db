import Crypto
import Foundation
import TransferModel

extension AckToken {
    /// Creates the token of an event for the subscription with that key.
    ///
    /// The database computes it in the same way. Key and identifier have fixed lengths, so a plain
    /// hash of both is a sound code.
    init(_ event: SessionEvent, key: [UInt8]) {
        var hash = SHA256()
        hash.update(data: key)
        hash.update(data: withUnsafeBytes(of: event.id.uuid) { Array($0) })
        self.init(
            session: event.session,
            sequence: event.sequence,
            proof: Array(hash.finalize().prefix(Self.proofBytes))
        )
    }
}
