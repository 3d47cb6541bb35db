package import Foundation
package import TransferModel

/// A call that changes something or is refused, as the audit log keeps it.
///
/// It has no secret and no query string: a query may be a secret.
package struct AuditEntry: Sendable, Equatable {
    /// The maximum number of bytes of ``action`` that are kept.
    private static let actionBytesMax = 64
    /// The maximum number of bytes of ``object`` that are kept.
    package static let objectBytesMax = 512

    /// The `X-Request-Id` of the answer; nil for a command.
    package let requestID: UUID?
    /// The identifier of the key, or the user who ran a command; nil for a request without a key.
    package let actor: String?
    package let tenant: TenantID?
    /// The address that the request came from.
    package let peer: String?
    /// The method of a request, or the words of a command.
    package let action: String
    /// The path of a request, or what a command names.
    package let object: String
    /// The status of the answer; nil for an entry that is written with the change itself.
    package var status: Int?
    /// The code of the problem, if the answer is one.
    package var code: String?

    package init(
        requestID: UUID? = nil,
        actor: String? = nil,
        tenant: TenantID? = nil,
        peer: String? = nil,
        action: String,
        object: String,
        status: Int? = nil,
        code: String? = nil
    ) {
        self.requestID = requestID
        self.actor = actor
        self.tenant = tenant
        self.peer = peer
        self.action = Self.bounded(action, to: Self.actionBytesMax)
        self.object = Self.bounded(object, to: Self.objectBytesMax)
        self.status = status
        self.code = code
    }

    /// Returns as much of `text` as is kept, up to a whole character.
    private static func bounded(_ text: String, to bytesMax: Int) -> String {
        guard text.utf8.count > bytesMax else { return text }
        var bounded = ""
        for scalar in text.unicodeScalars {
            guard bounded.utf8.count + UTF8.width(scalar) <= bytesMax else { break }
            bounded.unicodeScalars.append(scalar)
        }
        return bounded
    }
}
