/// What an upload sends that lies elsewhere.
package enum CopySource: Equatable, Sendable {
    /// The result of another task of the tenant, which must be kept when the upload begins.
    case result(of: TaskID)
    /// What the answer to a `GET` of this URL, with these headers, has as its body.
    case remote(url: String, headers: [HTTPHeader])
}
