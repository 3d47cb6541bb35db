/// The resource at which an origin keeps what it has got of an upload, and takes the rest.
package struct UploadResource: Equatable, Sendable {
    /// The attempt to which the origin named it; tells it from others of the task.
    package let fence: Fence
    /// How it is spoken with; whatever the task's options say by now, it knows no other way.
    package let dialect: ResumableUpload
    /// Its URL, which may be all that its owner has to show; at most ``urlBytesMax`` bytes.
    package let url: String
    /// Whether the task's own origin named it as one of its own: the task's secrets are sent to
    /// no other.
    package let isAtOrigin: Bool
    /// The version of the body whose bytes it has; those of another are not appended to them.
    package let body: String

    /// The longest URL that is kept, in bytes.
    package static let urlBytesMax = 8192

    package init(
        fence: Fence,
        dialect: ResumableUpload,
        url: String,
        isAtOrigin: Bool,
        body: String
    ) {
        self.fence = fence
        self.dialect = dialect
        self.url = url
        self.isAtOrigin = isAtOrigin
        self.body = body
    }

    /// The resource as one to which the task's secrets are not sent.
    package var elsewhere: UploadResource {
        UploadResource(fence: fence, dialect: dialect, url: url, isAtOrigin: false, body: body)
    }
}
