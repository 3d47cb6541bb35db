/// What a client asked for with a task, and what its session adds to that.
package struct TaskRequestRecord: Sendable {
    /// The task's own method; nil for that of its kind.
    package let method: String?
    /// The source of the bytes that are sent; nil when nothing is.
    package let upload: Upload?
    /// The names of the task's own headers, without their values, which may be secrets.
    package let headerNames: [String]
    /// The type of the bytes that came with the task; nil of any other task.
    package let contentType: String?
    /// The options that the task sets.
    package let options: TransferOptions
    package let sessionKind: Session.Kind
    /// The names of the headers that the session sends with each task.
    package let sessionHeaderNames: [String]
    /// The options that the session sets, with its two timeouts.
    package let sessionOptions: TransferOptions

    /// The source of the bytes that are sent, without bytes.
    package enum Upload: Equatable, Sendable {
        /// A file of the tenant's container, by its relative path.
        case file(path: String)
        /// The body that the client brings to the service.
        case staged
        /// What lies elsewhere; the headers for it have no values.
        case copy(CopySource)
        /// So many bytes that came with the task itself.
        case data(count: Int64)
    }

    package init(
        method: String?,
        upload: Upload?,
        headerNames: [String],
        contentType: String?,
        options: TransferOptions,
        sessionKind: Session.Kind,
        sessionHeaderNames: [String],
        sessionOptions: TransferOptions
    ) {
        self.method = method
        self.upload = upload
        self.headerNames = headerNames
        self.contentType = contentType
        self.options = options
        self.sessionKind = sessionKind
        self.sessionHeaderNames = sessionHeaderNames
        self.sessionOptions = sessionOptions
    }

    /// The options that hold for a request with this method.
    package func optionsInForce(method: String) -> TransferOptions {
        sessionOptions.overridden(by: options).inForce(in: sessionKind, method: method)
    }

    /// The names of the headers that are sent: those of the session that the task does not set
    /// itself, and its own.
    package var headerNamesInForce: [String] {
        let own = Set(headerNames.map { $0.lowercased() })
        return sessionHeaderNames.filter { !own.contains($0.lowercased()) } + headerNames
    }
}
