import HTTPTypes
import TransferModel

extension RevisionCondition {
    /// Reads the condition of a request that changes something.
    ///
    /// A weak tag matches nothing (RFC 9110 §13.1.1), nor does one that this service has not made.
    /// Of a tag only the revision counts: progress makes other tags, and fails no change.
    init(_ fields: HTTPFields) {
        if let field = fields.value(of: .ifMatch) {
            let tags = field.split(separator: ",").map(\.trimmed)
            self = tags == ["*"] ? .exists : .oneOf(tags.compactMap { EntityTag.revision(in: $0) })
        } else if fields.value(of: .ifNoneMatch) == "*" {
            self = .absent
        } else {
            self = .none
        }
    }
}
