import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import TransferContainer
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/tasks/{id}/content`: the bytes of a completed task.
struct ContentRoutes: Sendable {
    /// The bytes in memory for one client: many when the budget of answers has them, few otherwise,
    /// so that there may be as many slow clients as connections.
    static let chunkBytes = PacedBodyWriter.pieceBytes
    static let chunkBytesMin = 16 * 1024

    let stores: APIStores
    let container: Container
    /// The threads on which reads block, so that the threads of the sockets never do.
    let threads: NIOThreadPool

    func add(to router: APIRouter) {
        router.get("/v1/tasks/{id}/content", scope: .read) { request, context in
            try await content(
                of: context.taskID(),
                tenant: context.requireTenant(),
                fields: request.headers
            )
        }
    }

    func content(
        of id: TaskID,
        tenant: TenantID,
        fields: HTTPFields
    ) async throws -> Response {
        guard let task = try await stores.tasks.task(tenant: tenant, id: id) else {
            throw try await stores.tasks.noTask(id, tenant: tenant)
        }
        guard task.state == .completed, let result = task.result else {
            throw Problem(.taskNotCompleted, "The task is \(task.state.rawValue).")
        }
        guard task.kind == .download else {
            return try await answer(to: id, tenant: tenant, result, fields: fields)
        }
        let (file, isOwn) = try await open(task, result, tenant: tenant)
        let etag = "\"\(task.id)-\(file.tag)\""
        var headers: HTTPFields = [.eTag: etag, .acceptRanges: "bytes"]
        if Self.isKnown(etag, by: fields) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = MediaType.acceptable(result.contentType)
        headers[.contentEncoding] = result.contentEncoding
        headers[.contentDisposition] = Self.disposition(result.suggestedFileName)
        headers[.reprDigest] = isOwn ? Self.digest(of: result) : nil
        // RFC 9110 §13.1.5: the range counts only for the same bytes of which the client has a
        // part.
        let isSame = fields.value(of: .ifRange).map { $0 == etag } ?? true
        switch ByteRange(isSame ? fields.value(of: .range) : nil, size: file.size) {
        case .whole:
            return Response(status: .ok, headers: headers, body: body(file, 0..<file.size))
        case .part(let range):
            headers[.contentRange] =
                "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"
            return Response(status: .partialContent, headers: headers, body: body(file, range))
        case .unsatisfiable:
            var problem = Problem(
                .rangeNotSatisfiable,
                "The content has \(file.size) bytes."
            )
            problem.headers[.contentRange] = "bytes */\(file.size)"
            throw problem
        }
    }

    /// Whether the client already has the content with that tag.
    private static func isKnown(_ etag: String, by fields: HTTPFields) -> Bool {
        fields.value(of: .ifNoneMatch).map { EntityTag.lists($0, etag) } ?? false
    }

    /// Returns what the origin answered to an upload or data task, as far as it was kept.
    private func answer(
        to id: TaskID,
        tenant: TenantID,
        _ result: TransferResult,
        fields: HTTPFields
    ) async throws -> Response {
        let etag = "\"\(id)-answer\""
        guard !Self.isKnown(etag, by: fields) else {
            return Response(status: .notModified, headers: [.eTag: etag])
        }
        let body = try await stores.tasks.responseBody(tenant: tenant, task: id) ?? []
        var headers: HTTPFields = [
            .contentType: MediaType.acceptable(result.contentType),
            .contentDisposition: Self.disposition(nil), .eTag: etag,
        ]
        headers[.contentEncoding] = result.contentEncoding
        return Response(
            status: .ok,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body))
        )
    }

    /// Returns the verified checksums of the whole file (RFC 9530 §3), of the algorithms that its
    /// registry does not deprecate; nil without any.
    private static func digest(of result: TransferResult) -> String? {
        let members = result.checksums.filter { $0.algorithm >= .sha256 }.map { checksum in
            "\(checksum.algorithm.rawValue)=:\(Data(checksum.bytes).base64EncodedString()):"
        }
        return members.isEmpty ? nil : members.joined(separator: ", ")
    }

    /// Returns a disposition that has the content stored, never rendered, under the name that the
    /// origin suggested (RFC 6266 §4.1).
    private static func disposition(_ name: String?) -> String {
        guard let name else { return "attachment" }
        return "attachment; filename*=UTF-8''\(PercentEncoding.encodeSegment(name))"
    }

    /// Opens the file of a task, and tells whether it is the very file that the task has put there.
    ///
    /// A destination may have another task's file by now. One that was written after this task had
    /// ended is not its content. An older one is probably a copy that an operator has put there,
    /// but nobody has verified its checksums.
    private func open(
        _ task: TransferTask,
        _ result: TransferResult,
        tenant: TenantID
    ) async throws -> (file: ContentFile, isOwn: Bool) {
        guard
            let path = ResultLocation.path(
                of: task.id,
                destination: task.destination,
                part: task.part
            )
        else { throw Problem(.contentGone) }
        let opened: (file: ContentFile, isOwn: Bool)
        do {
            opened = try await threads.runIfActive {
                [container] () throws -> (file: ContentFile, isOwn: Bool) in
                let file = try ContentFile(Container.Place(path, tenant: tenant), in: container)
                guard let identity = result.file else { return (file, true) }
                return (file, try file.isFile(identity))
            }
        } catch ContentFile.Failure.gone {
            throw Problem(.contentGone)
        } catch ContentFile.Failure.storage(let error) {
            throw Problem(error, in: container)
        }
        let isNewer =
            (opened.file.modifiedAt ?? .distantPast) > (task.finishedAt ?? .distantFuture)
        guard opened.file.size == result.bytesReceived, opened.isOwn || !isNewer else {
            throw Problem(.contentGone)
        }
        // The very file may have been written to since.
        return (opened.file, opened.isOwn && (result.file == nil || !isNewer))
    }

    /// Returns a body that writes each chunk before it reads the next.
    ///
    /// A slow client costs one chunk, and a client that goes away ends the write, which releases
    /// the file.
    private func body(_ file: ContentFile, _ range: Range<Int64>) -> ResponseBody {
        guard !range.isEmpty else { return ResponseBody() }
        let share = RequestResources.current?.answer
        return ResponseBody(contentLength: range.count) { [threads] writer in
            var offset = range.lowerBound
            while offset < range.upperBound {
                let isLarge = share?.takeIfThere(Self.chunkBytes) ?? true
                defer { share?.shrink(to: 0) }
                let count = isLarge ? Self.chunkBytes : Self.chunkBytesMin
                let end = min(offset + Int64(count), range.upperBound)
                let chunk = try await threads.runIfActive { [offset] in
                    try file.read(offset..<end)
                }
                try await writer.write(chunk)
                offset = end
            }
            try await writer.finish(nil)
        }
    }
}
