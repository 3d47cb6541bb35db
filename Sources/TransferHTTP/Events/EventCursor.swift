import Foundation
import TransferModel
import TransferWire

/// A position in a log of events: after the event with this sequence, or before all events with 0.
///
/// In the feed of a tenant, the event's position there takes the place of its sequence. The cursor
/// names the log by its own identifier and not by the session's, because a later session with
/// another log may have the same identifier.
struct EventCursor: Equatable, Sendable, CustomStringConvertible {
    /// The session or the client; the tenant for its feed.
    let log: SessionID
    let sequence: Int64

    init(log: SessionID, sequence: Int64) {
        self.log = log
        self.sequence = sequence
    }

    /// The range of sequences that have no more digits than `openapi.yaml` allows.
    private static let sequences: Range<Int64> = 0..<1_000_000_000_000_000_000

    /// Reads a cursor.
    ///
    /// - Returns: nil for anything that ``description`` does not produce.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, let log = UUID(uuidString: String(parts[0]) ?? ""),
            let sequence = Int64(String(parts[1]) ?? ""), Self.sequences.contains(sequence)
        else { return nil }
        self.init(log: SessionID(log), sequence: sequence)
        guard description.utf8.elementsEqual(text.utf8) else { return nil }
    }

    /// The form in `next` of a page and in the `id` of a stream: `session_id:sequence`, or
    /// `tenant_id:position`.
    var description: String { "\(log.uuid.text):\(sequence)" }

    /// Reads a cursor, or throws a ``Problem`` that names `field` when `text` is not one.
    static func read(_ text: String?, from field: String) throws(Problem) -> EventCursor? {
        guard let text else { return nil }
        guard let cursor = EventCursor(text) else {
            throw QueryParameters.invalid(
                field,
                "Must be the `next` of a page or the `id` in a stream of these events, unchanged.",
                code: .invalidCursor
            )
        }
        return cursor
    }
}
