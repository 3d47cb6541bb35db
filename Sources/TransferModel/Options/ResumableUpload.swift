/// A way in which an upload continues where its origin has stopped.
package enum ResumableUpload: String, CaseIterable, Sendable {
    /// In none: every request sends the whole body.
    case off
    /// draft-ietf-httpbis-resumable-upload, which URLSession speaks: the task's own request, of
    /// which the origin says that it can be resumed, and where.
    case ietf
    /// tus 1.0.0 with its extension `creation`.
    case tus
    /// An answer that names a resource, and `PUT` with `Content-Range` there, as Google's storage
    /// has it.
    case contentRange = "content_range"

    /// Whether no byte of the body is sent before the origin has named the resource for it.
    package var namesResourceFirst: Bool {
        switch self {
        case .tus, .contentRange: true
        case .off, .ietf: false
        }
    }
}
