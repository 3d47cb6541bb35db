/// A writer of the receipts of one session's tasks, which makes the bytes that ``WireEncoder``
/// makes of ``TaskReceipt``.
///
/// Receipts differ only in the task; with an encoder each would cost more than reading and checking
/// the task.
public struct ReceiptWriter {
    /// The form of an answer with receipts.
    public enum Form: String, Codable, Sendable {
        /// The only receipt.
        case single
        /// A ``BatchReceipt``.
        case batch
        /// Each receipt on a line.
        case lines
    }

    private let form: Form
    private var bytes: [UInt8] = []
    /// The text between the path of a task and its state.
    private let session: [UInt8]

    /// The number of bytes reserved for a receipt besides the session's identifier.
    private static let receiptBytes = 192

    /// - Throws: never, as ``WireEncoder``.
    public init(_ form: Form, sessionIdentifier: String, count: Int) throws {
        self.form = form
        var session = Array(#"","session_identifier":"#.utf8)
        try Self.append(sessionIdentifier, to: &session)
        session += #","state":""#.utf8
        self.session = session
        bytes.reserveCapacity(count * (Self.receiptBytes + sessionIdentifier.utf8.count))
        if form == .batch { bytes += #"{"items":["#.utf8 }
    }

    /// Appends a receipt; only `clientString` may need escapes.
    ///
    /// - Throws: never, as ``WireEncoder``.
    public mutating func append(
        id: String,
        kind: String,
        clientString: String?,
        state: String
    ) throws {
        if form == .batch, bytes.last == UInt8(ascii: "}") { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "{"))
        if let clientString {
            bytes += #""client_persisted_string":"#.utf8
            try Self.append(clientString, to: &bytes)
            bytes.append(UInt8(ascii: ","))
        }
        bytes += #""id":""#.utf8
        bytes += id.utf8
        bytes += #"","kind":""#.utf8
        bytes += kind.utf8
        bytes += #"","location":""#.utf8
        bytes += APIPath.task(id).utf8
        bytes += session
        bytes += state.utf8
        bytes += #""}"#.utf8
        if form == .lines { bytes.append(UInt8(ascii: "\n")) }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) throws {
        let isPlain = text.utf8.allSatisfy { byte in
            byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        }
        guard isPlain else {
            bytes += try WireEncoder.encode(text)
            return
        }
        bytes.append(UInt8(ascii: "\""))
        bytes += text.utf8
        bytes.append(UInt8(ascii: "\""))
    }

    /// Returns the whole answer.
    public consuming func finish() -> [UInt8] {
        if form == .batch { bytes += "]}".utf8 }
        return bytes
    }
}
