public import Foundation
import TransferWire

extension TransferSession {
    /// Creates a download of a URL, which starts with its `resume()`.
    public func downloadTask(with url: String) -> TransferTask {
        downloadTask(with: TransferRequest(url: url))
    }

    /// Creates a download of a URL, which starts with its `resume()`.
    public func downloadTask(with url: URL) -> TransferTask {
        downloadTask(with: url.absoluteString)
    }

    /// Creates a download, which starts with its `resume()`.
    public func downloadTask(with request: TransferRequest) -> TransferTask {
        TransferTask(kind: .download, request: request, source: nil, session: self)
    }

    /// Creates an upload of a file of this machine, whose bytes are sent to the service first.
    public func uploadTask(with request: TransferRequest, fromFile file: URL) -> TransferTask {
        TransferTask(kind: .upload, request: request, source: .file(file), session: self)
    }

    /// Creates an upload of bytes, which come with the task: at most a few megabytes.
    public func uploadTask(with request: TransferRequest, from bytes: [UInt8]) -> TransferTask {
        TransferTask(kind: .upload, request: request, source: .bytes(bytes), session: self)
    }

    /// Creates an upload of a file of the tenant's container.
    public func uploadTask(
        with request: TransferRequest,
        fromContainerPath path: String
    ) -> TransferTask {
        TransferTask(kind: .upload, request: request, source: .container(path: path), session: self)
    }

    /// Creates a request with a short response, which an ephemeral session alone can have.
    public func dataTask(with request: TransferRequest) -> TransferTask {
        TransferTask(kind: .data, request: request, source: nil, session: self)
    }

    /// All tasks that have not ended, also those of other processes.
    ///
    /// Each is followed from then on, as if this process had submitted it.
    public var allTasks: [TransferTask] {
        get async throws(TransferError) {
            // A task may be accepted between the two looks, and is then found by both.
            var tasks = submitter.waiting
            let session = APIPath.session(configuration.identifier)
            var cursor: String?
            repeat {
                let place = cursor.map { "&cursor=\(PercentEncoding.encodeSegment($0))" } ?? ""
                let path = "\(session)/tasks?limit=200&state=\(Self.outstandingStates)\(place)"
                tasks += try await registering { () async throws(TransferError) in
                    let page: Page<TaskDocument> = try await service.get(
                        ServiceRequest("GET", path).ofClient()
                    )
                    cursor = page.nextCursor
                    await registry.awaitSubmissions()
                    let tasks = page.items.map { follow($0) }
                    return (tasks, tasks)
                }
            } while cursor != nil
            var seen: Set<ObjectIdentifier> = []
            return tasks.filter { seen.insert(ObjectIdentifier($0)).inserted }
        }
    }

    private static let outstandingStates = [
        "suspended", "scheduled", "waiting_to_begin", "queued", "running", "waiting_for_retry",
        "waiting_for_connectivity", "waiting_for_authentication",
    ].joined(separator: ",")

    /// The session's events since this process first used it, each as it happens.
    public var events: TransferEvents {
        TransferEvents(service: service, sessionIdentifier: configuration.identifier) {
            () async throws(TransferError) in
            EventCursor(try await self.firstDocument())
        }
    }

    /// Returns the events behind a cursor that was kept.
    public func events(after cursor: EventCursor, types: [String] = []) -> TransferEvents {
        TransferEvents(
            service: service,
            sessionIdentifier: configuration.identifier,
            after: cursor,
            types: types
        )
    }
}
