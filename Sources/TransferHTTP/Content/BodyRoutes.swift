import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOPosix
import TransferContainer
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/tasks/{id}/body`: the bytes of an upload, which its client sends in one
/// request or several.
struct BodyRoutes: Sendable {
    let stores: APIStores
    let container: Container
    let staged: StagedBytes
    let bytesMax: Int64
    let tell: @Sendable (Set<Signal>) -> Void
    /// The keys of requests whose bodies arrive, which may take weeks.
    let keys: KeyWatch
    /// The threads on which writes block, so that the threads of the sockets never do.
    let threads: NIOThreadPool

    func add(to router: APIRouter) {
        router.get("/v1/tasks/{id}/body", scope: .submit) { _, context in
            try await offset(of: context.taskID(), tenant: context.requireTenant())
        }
        router.put("/v1/tasks/{id}/body", scope: .submit) { request, context in
            try await put(request, of: context.taskID(), for: context.requireCaller())
        }
    }

    func offset(of id: TaskID, tenant: TenantID) async throws -> Response {
        _ = try await awaiting(id, tenant: tenant)
        let size = try await container.run(on: threads) { [container] in
            try StagedBody.size(of: id, tenant: tenant, in: container)
        }
        return Response(status: .noContent, headers: [.uploadOffset: "\(size)"])
    }

    func put(_ request: Request, of id: TaskID, for caller: Caller) async throws -> Response {
        let tenant = caller.tenant
        let key = keys.hold(caller)
        _ = try await awaiting(id, tenant: tenant)
        let range = try BodyRange(request.headers)
        try Self.checkForm(of: request.headers, isWhole: range.isWhole)
        guard range.total ?? 0 <= bytesMax else { throw tooLarge }
        let body = try await open(id, tenant: tenant)
        // Checked again under the lock: another request may just have brought the last bytes.
        _ = try await awaiting(id, tenant: tenant)
        var chunks = request.body.makeAsyncIterator()
        let first = try await beginAnew(body, range, &chunks, of: id, tenant: tenant)
        guard body.size == range.start else {
            var problem = Problem(
                .wrongOffset,
                "Go on at byte \(body.size), or begin again at byte 0."
            )
            problem.headers[.uploadOffset] = "\(body.size)"
            throw problem
        }
        do {
            try await receive(first, &chunks, into: body, range, of: id, under: key)
        } catch {
            try await keep(body, of: id, tenant: tenant)
            throw error
        }
        let isComplete = range.isComplete(at: body.size)
        try await store(body, of: id, tenant: tenant) {
            guard isComplete else { return }
            try await check(body, request.headers, isWhole: range.start == 0)
        }
        guard isComplete else {
            return Response(status: .accepted, headers: [.uploadOffset: "\(body.size)"])
        }
        // Nothing is sent in the name of a key that has ended.
        try key.check()
        guard let ready = try await stores.control.completeBody(tenant: tenant, id: id) else {
            throw Problem(.unknownTask)
        }
        guard ready.state != .cancelled else { throw Self.notExpected(by: ready) }
        tell(.ofTasks)
        return try Response(
            status: .ok,
            headers: [.contentType: "application/json"],
            body: ResponseBody(
                byteBuffer: ByteBuffer(bytes: WireEncoder.encode(TaskDocument(ready)))
            )
        )
    }

    /// Makes the bytes of a request durable that breaks off: the client is to continue after them,
    /// also after a power cut or at another machine.
    ///
    /// - Throws: only if there are fewer bytes now than the request's own error tells.
    private func keep(_ body: StagedBody, of id: TaskID, tenant: TenantID) async throws {
        guard !body.isDurable else { return }
        let brought = body.size
        // The request may have been cancelled, and work for a cancelled task is dropped.
        let stored = Task { try await store(body, of: id, tenant: tenant) }
        do {
            try await stored.value
        } catch {
            guard body.size == brought else { throw error }
        }
    }

    /// Makes the bytes durable that have passed `check`.
    ///
    /// Bytes that do not pass, or cannot be flushed, are discarded, and take no room.
    private func store(
        _ body: StagedBody,
        of id: TaskID,
        tenant: TenantID,
        _ check: () async throws -> Void = {}
    ) async throws {
        let brought = body.size
        do {
            try await check()
            try await container.run(on: threads) { try body.sync() }
        } catch {
            if body.size == 0 {
                staged.added(-brought, of: tenant)
                try await stores.stagedBodies.forget([id])
            }
            throw error
        }
    }

    /// Returns the task when it still waits for bytes; a task that has not begun may be given
    /// others.
    private func awaiting(_ id: TaskID, tenant: TenantID) async throws -> TransferTask {
        guard let task = try await stores.tasks.task(tenant: tenant, id: id) else {
            throw Problem(.unknownTask)
        }
        guard task.awaitsBody else { throw Self.notExpected(by: task) }
        return task
    }

    private static func notExpected(by task: TransferTask) -> Problem {
        Problem(.bodyNotExpected, "The task is \(task.state.rawValue).")
    }

    private func open(_ id: TaskID, tenant: TenantID) async throws -> StagedBody {
        do {
            return try await container.run(on: threads) { [container] in
                try StagedBody(of: id, tenant: tenant, in: container)
            }
        } catch is StagedBody.InUse {
            throw Problem(.bodyInUse, "Another request is just bringing bytes.")
        }
    }

    /// Discards what has arrived if the request begins at 0 and has bytes.
    ///
    /// A request without bytes discards none: a client that has sent all of them, and only asks for
    /// the last step again, would otherwise complete the upload without its content.
    ///
    /// - Returns: the first bytes of the request if they had to be read to know.
    private func beginAnew(
        _ body: StagedBody,
        _ range: BodyRange,
        _ chunks: inout RequestBody.AsyncIterator,
        of id: TaskID,
        tenant: TenantID
    ) async throws -> ByteBuffer? {
        guard range.start == 0 else { return nil }
        var first: ByteBuffer?
        // What is kept so far may be of another body.
        if range.end == nil { first = try await Self.next(&chunks, at: 0) }
        let count = Int64(first?.readableBytes ?? 0)
        if (range.end ?? count) > 0, body.size > 0 {
            // A body for which there is no room takes the place of none.
            let kept = body.size
            try await ask(for: max(0, (range.end ?? count) - kept), to: body, of: tenant)
            try await reserve(range.total ?? range.end ?? count, for: body, of: id, tenant: tenant)
            try await container.run(on: threads) { try body.clear() }
            staged.added(-kept, of: tenant)
        }
        return first
    }

    /// The number of bytes for which room is reserved at once if their number is unknown, and their
    /// tenant may keep so many.
    private static let reservedMax: Int64 = 16 << 20

    private func receive(
        _ first: ByteBuffer?,
        _ chunks: inout RequestBody.AsyncIterator,
        into body: StagedBody,
        _ range: BodyRange,
        of id: TaskID,
        under key: KeyHold
    ) async throws {
        let tenant = key.caller.tenant
        let end = range.end ?? bytesMax
        // Space is requested for the announced length, or as the bytes arrive; others write at the
        // same time.
        var announced = (range.end ?? body.size) - body.size
        var asked = body.size
        try await ask(for: announced, to: body, of: tenant)
        let least = range.total ?? range.end ?? body.size + Int64(first?.readableBytes ?? 0)
        var reserved = try await reserve(
            least,
            upTo: range.end == nil ? max(least, body.size + Self.reservedMax) : least,
            for: body,
            of: id,
            tenant: tenant
        )
        var next = first
        if next == nil { next = try await Self.next(&chunks, at: body.size) }
        while let chunk = next {
            try key.check()
            let count = Int64(chunk.readableBytes)
            guard body.size + count <= end else {
                throw range.end == nil ? tooLarge : BodyRange.mismatch
            }
            if body.size + count > reserved {
                reserved = try await reserve(
                    body.size + count,
                    upTo: body.size + max(count, Self.reservedMax),
                    for: body,
                    of: id,
                    tenant: tenant
                )
            }
            if body.size - asked >= StagedBytes.step {
                // Whoever brings bytes for a task that has ended meanwhile is told so soon.
                _ = try await awaiting(id, tenant: tenant)
                try await ask(for: max(announced, count), to: body, of: tenant)
                asked = body.size
            }
            try await container.run(on: threads) {
                try chunk.withUnsafeReadableBytes { try body.append($0) }
            }
            announced -= count
            staged.added(count, of: tenant)
            next = try await Self.next(&chunks, at: body.size)
        }
        guard range.end ?? body.size == body.size else { throw BodyRange.mismatch }
        if range.end == nil { try await reserve(body.size, for: body, of: id, tenant: tenant) }
    }

    /// Reserves what the body may come to have among the bytes that the tenant may keep.
    ///
    /// - Returns: the number of bytes, from `bytes` up to `most`.
    @discardableResult
    private func reserve(
        _ bytes: Int64,
        upTo most: Int64? = nil,
        for body: StagedBody,
        of id: TaskID,
        tenant: TenantID
    ) async throws -> Int64 {
        do throws(StoreError) {
            return try await stores.stagedBodies.reserve(bytes, upTo: most, for: id, of: tenant)
        } catch {
            var problem = Problem(error)
            problem.headers[.uploadOffset] = "\(body.size)"
            throw problem
        }
    }

    private func ask(for more: Int64, to body: StagedBody, of tenant: TenantID) async throws {
        let obstacle = try await container.run(on: threads) { [staged] in
            try staged.obstacle(to: more, in: body, of: tenant)
        }
        var problem: Problem
        switch obstacle {
        case nil: return
        case .fullDisk: problem = Problem(.storageFull)
        case .tenantsPart: problem = Problem(exhausted: .stagedBytes)
        }
        problem.headers[.uploadOffset] = "\(body.size)"
        throw problem
    }

    private static func next(
        _ chunks: inout RequestBody.AsyncIterator,
        at offset: Int64
    ) async throws -> ByteBuffer? {
        do {
            return try await chunks.next()
        } catch let error as HTTPParserError where !error.isEarlyEnd {
            // The server itself answers broken framing and closes the connection.
            throw error
        } catch {
            var problem = Problem(
                .incompleteBody,
                "It broke off; what has come is kept, so go on at `Upload-Offset`."
            )
            problem.headers[.uploadOffset] = "\(offset)"
            throw problem
        }
    }

    /// Checks that the digests that the client sent can be compared at the end (RFC 9530).
    ///
    /// The client relies on the check, so a digest that cannot be read is refused, not ignored.
    private static func checkForm(of fields: HTTPFields, isWhole: Bool) throws(Problem) {
        let malformed = DigestFields.malformed(
            status: isWhole ? 200 : 206,
            headers: lines(of: fields)
        )
        guard !malformed.isEmpty else { return }
        throw Problem(malformed.map { FieldError(parameter: $0, .invalidValue, digestRule) })
    }

    private static let digestRule: String = {
        let lengths = ChecksumAlgorithm.allCases.map { algorithm in
            "\(algorithm.byteCount) bytes for `\(algorithm.rawValue)`"
        }
        return """
            Must be digests by algorithm, in Base64 between colons, such as `sha-256=:…:` \
            (RFC 9530), with \(lengths.joined(separator: ", ")).
            """
    }()

    private static func lines(of fields: HTTPFields) -> [(name: String, value: String)] {
        fields.map { (name: $0.name.rawName, value: $0.value) }
    }

    /// Checks the whole body against the digests that the client sent (RFC 9530).
    private func check(_ body: StagedBody, _ fields: HTTPFields, isWhole: Bool) async throws {
        let wanted = DigestFields.checksums(
            status: isWhole ? 200 : 206,
            headers: Self.lines(of: fields)
        )
        guard !wanted.isEmpty else { return }
        let found = try await container.run(on: threads) {
            try body.checksums(Set(wanted.map(\.algorithm)))
        }
        guard wanted.allSatisfy(found.contains) else {
            try await container.run(on: threads) { try body.clear() }
            throw Problem(.digestMismatch, "Nothing of the body was kept; bring it again.")
        }
    }

    private var tooLarge: Problem {
        Problem(.bodyTooLarge, "The bytes of an upload may be \(bytesMax).")
    }
}
