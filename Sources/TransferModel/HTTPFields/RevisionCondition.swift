/// The condition of a change on the revision of its subject, the number of changes made to it
/// (`If-Match` and `If-None-Match: *`, RFC 9110 §13.1).
package enum RevisionCondition: Equatable, Sendable {
    /// The change is made in any case.
    case none
    /// The change is made if its subject exists.
    case exists
    /// The change is made if its subject does not exist.
    case absent
    /// The change is made if its subject exists and has one of these revisions.
    case oneOf([Int32])

    /// The revisions of an existing subject that the change is made to; nil for all.
    package var revisions: [Int32]? {
        switch self {
        case .none, .exists: nil
        case .absent: []
        case .oneOf(let revisions): revisions
        }
    }

    /// Whether the change may make its subject.
    package var allowsNew: Bool { self == .none || self == .absent }
}
