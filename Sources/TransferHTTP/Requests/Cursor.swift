import Foundation
import TransferModel
import TransferStore
import TransferWire

/// A position in a list, as text that clients only return.
///
/// It names a position and nothing else: every page is read with the tenant of its request, so a
/// forged cursor shows nothing that a genuine one would not.
enum Cursor: Equatable, Sendable {
    case session(ClientID, identifier: String)
    case task(TaskID)
    case subscription(SubscriptionID)
    case credential(name: String)
    case delivery(DeliveryID)
    case client(ClientID)
    case host(name: String)
    case key(id: String)
    case bulkOperation(BulkOperationID)
    case run(BackgroundTaskRunID)
    case audit(AuditRecord.Position)
    /// Behind a task of a session, or before its first one.
    case tenantTask(SessionID, TaskID?)

    /// The version of the form, which changes with it: older cursors are then refused, not misread.
    private static let version: UInt8 = 1
    /// The maximum length of a cursor in characters.
    private static let lengthMax = 512

    /// The cursor in base64url (RFC 4648 §5) without padding.
    var serialized: String {
        Data([Self.version, kind] + payload).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Reads a cursor.
    ///
    /// - Returns: nil for anything that ``serialized`` does not produce.
    init?(_ text: String) {
        guard text.utf8.count <= Self.lengthMax,
            let bytes = Data(base64Encoded: Self.padded(text)).map(Array.init), bytes.count > 2,
            bytes[0] == Self.version
        else { return nil }
        let payload = Array(bytes[2...])
        switch bytes[1] {
        case 1:
            let parts = payload.split(separator: 0, maxSplits: 1).map { part in
                String(validating: part, as: UTF8.self) ?? ""
            }
            guard parts.count == 2, let client = ClientID(parts[0]),
                SessionIdentifier.isValid(parts[1])
            else { return nil }
            self = .session(client, identifier: parts[1])
        case 2:
            guard let uuid = UUID(bytes: payload) else { return nil }
            self = .task(TaskID(uuid))
        case 3:
            guard let uuid = UUID(bytes: payload) else { return nil }
            self = .subscription(SubscriptionID(uuid))
        case 4:
            guard let name = String(validating: payload, as: UTF8.self), Credential.isName(name)
            else { return nil }
            self = .credential(name: name)
        case 5:
            guard let uuid = UUID(bytes: payload) else { return nil }
            self = .delivery(DeliveryID(uuid))
        case 6:
            guard let name = String(validating: payload, as: UTF8.self),
                let client = ClientID(name)
            else { return nil }
            self = .client(client)
        case 7:
            guard let name = String(validating: payload, as: UTF8.self), !name.utf8.contains(0)
            else { return nil }
            self = .host(name: name)
        case 8:
            guard APIKey.isID(payload) else { return nil }
            self = .key(id: String(decoding: payload, as: UTF8.self))
        case 9:
            guard let uuid = UUID(bytes: payload) else { return nil }
            self = .bulkOperation(BulkOperationID(uuid))
        case 10:
            guard let session = UUID(bytes: Array(payload.prefix(16))),
                payload.count == 16 || payload.count == 32
            else { return nil }
            let task = UUID(bytes: Array(payload.dropFirst(16)))
            self = .tenantTask(SessionID(session), task.map { TaskID($0) })
        case 11:
            guard let uuid = UUID(bytes: payload) else { return nil }
            self = .run(BackgroundTaskRunID(uuid))
        case 12:
            guard let text = String(validating: payload, as: UTF8.self),
                let position = AuditRecord.Position(text)
            else { return nil }
            self = .audit(position)
        default: return nil
        }
        guard serialized.utf8.elementsEqual(text.utf8) else { return nil }
    }

    private var kind: UInt8 {
        switch self {
        case .session: 1
        case .task: 2
        case .subscription: 3
        case .credential: 4
        case .delivery: 5
        case .client: 6
        case .host: 7
        case .key: 8
        case .bulkOperation: 9
        case .tenantTask: 10
        case .run: 11
        case .audit: 12
        }
    }

    private var payload: [UInt8] {
        switch self {
        // Neither of the two can contain the NUL between them.
        case .session(let client, let identifier): client.name.utf8 + [0] + identifier.utf8
        case .task(let id): id.uuid.bytes
        case .subscription(let id): id.uuid.bytes
        case .credential(let name): Array(name.utf8)
        case .delivery(let id): id.uuid.bytes
        case .client(let id): Array(id.name.utf8)
        case .host(let name): Array(name.utf8)
        case .key(let id): Array(id.utf8)
        case .bulkOperation(let id): id.uuid.bytes
        case .run(let id): id.uuid.bytes
        case .audit(let position): Array(position.serialized.utf8)
        case .tenantTask(let session, let task): session.uuid.bytes + (task?.uuid.bytes ?? [])
        }
    }

    private static func padded(_ text: String) -> String {
        let standard = text.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        return standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
    }
}

extension QueryParameters {
    /// Returns the cursor at which the page begins.
    func cursor() throws(Problem) -> Cursor? {
        guard let text = self["cursor"] else { return nil }
        guard let cursor = Cursor(text) else { throw Self.foreignCursor }
        return cursor
    }

    /// The problem of a cursor that no page of this list has returned.
    static var foreignCursor: Problem {
        invalid(
            "cursor",
            "Must be the `next_cursor` of a page of this list.",
            code: .invalidCursor
        )
    }
}

extension UUID {
    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }

    fileprivate init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
