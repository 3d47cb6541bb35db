import Foundation
import HTTPTypes
package import Hummingbird
import Logging
import NIOCore
import TransferModel
import TransferStore
import TransferWire

/// The responder around all routes: it names each request, asks for its key with the route's scope,
/// and turns thrown errors into answers.
///
/// A route cannot be added without authentication: only the paths that ``ProbeRoutes`` lists
/// and those of the page are allowed without a key, and ``APIRouter`` takes no other route
/// without a scope.
package struct APIResponder: HTTPResponder {
    package typealias Context = APIContext

    let routes: RouterResponder<APIContext>
    let table: RouteTable
    /// The authenticator; nil on an instance that does not offer the API.
    let authenticator: Authenticator?
    let resources: SharedResources
    let rates = RequestRates<TenantID>()
    let keyRates = RequestRates<String>()
    let connections: ConnectionRegistry
    let counters: RequestCounters
    let logger: Logger
    let refusals: RefusalLog
    let serverErrors: ServerErrorLog
    /// Records calls that change something or are refused; nil for none, before the start.
    var audit: AuditTrail?
    /// The handover to a responder that may answer in place of this one later; nil for none.
    var handover: APIHandover?

    /// The time before a client is told that it sends too much, that its key is not valid, that a
    /// request with a large body is refused, or any request after many that were: its connection
    /// has one request at a time, so that one which goes on regardless costs ten answers a second
    /// rather than thousands.
    static let refusalPause: Duration = .milliseconds(100)

    /// Answers a request.
    package func respond(to request: Request, context: APIContext) async throws -> Response {
        if let successor = handover?.successor {
            return try await successor.respond(to: request, context: context)
        }
        let start = ContinuousClock.now
        var record = RequestRecord(id: UUID.version7())
        let requestID = record.id.text
        var failure: (any Error)?
        var response: Response
        do {
            var context = context
            context.requestID = requestID
            response = try await admitted(request, context: context, record: &record)
            audit?.add(request, context, record, status: response.status.code)
        } catch {
            let problem = Problem(any: error)
            if !(error is Problem) { failure = error }
            let status = problem.code.status
            if RefusalLog.statuses.contains(status) {
                refusals.add(problem, request, context, record.caller, requestID: requestID)
            }
            audit?.add(request, context, record, status: status, code: problem.code.rawValue)
            response = answer(to: problem, requestID: requestID)
        }
        let status = response.status.code
        let isFutile = ConnectionTurn.current?.isFutile(after: status) ?? false
        let wasCostly = status >= 400 && record.resources?.holdsLargeBody ?? false
        if isFutile || wasCostly || status == 429 || status == 401 {
            // A service that stops waits no longer; the answer is sent all the same.
            try? await Task.sleep(for: Self.refusalPause)
            // Only now: the tenant's next large bodies wait for the room, on whichever connections.
            record.resources?.body.shrink(to: 0)
        }
        if request.method == .head { response = response.createHeadResponse() }
        response.headers.set(HTTPField(name: .requestID, value: requestID))
        response.headers.add(record.rate, key: record.keyRate)
        Self.addSecurityFields(to: &response.headers)
        let duration = ContinuousClock.now - start
        counters.count(
            method: request.method.rawValue,
            route: context.endpointPath,
            status: Int(response.status.code),
            after: duration,
            waits: request.headers.contains(.prefer)
        )
        log(request, context, requestID, status: Int(response.status.code), duration, failure)
        return response
    }

    /// Logs an answered request, with the details of its `failure` that the client is not told.
    private func log(
        _ request: Request,
        _ context: APIContext,
        _ requestID: String,
        status: Int,
        _ duration: Duration,
        _ failure: (any Error)?
    ) {
        // Written only for a line that is logged: most requests have none.
        var metadata: Logger.Metadata {
            [
                "request_id": "\(requestID)", "method": "\(request.method.rawValue)",
                "route": "\(context.endpointPath ?? "-")", "status": "\(status)",
                "duration_ms": "\(duration / .milliseconds(1))",
            ]
        }
        guard status >= 500 else { return logger.debug("request", metadata: metadata) }
        guard let failure else {
            // Whoever asks for the health is told of it, again and again.
            let isProbe = ProbeRoutes.probes.contains(request.uri.path)
            if isProbe { return logger.debug("request", metadata: metadata) }
            return serverErrors.add(status: status, metadata)
        }
        let details: Logger.MetadataValue = "\(String(reflecting: failure))"
        serverErrors.add(status: status, metadata.merging(["error": details]) { $1 })
    }

    /// Answers a request that is allowed on its connection; adds to `record` what becomes known.
    private func admitted(
        _ request: Request,
        context: APIContext,
        record: inout RequestRecord
    ) async throws -> Response {
        let path = request.uri.path
        if !ProbeRoutes.probes.contains(path), connections.isForHealthOnly(context.channel) {
            throw Problem(exhausted: .connections)
        }
        var context = context
        if !ProbeRoutes.paths.contains(path) {
            guard let authenticator else { throw handover?.refusal ?? Problem.withoutAPI }
            // Where there is no page, its paths are unknown to everybody.
            if !PageRoutes.owns(path) {
                let caller = try await authenticator.caller(
                    of: request.headers,
                    from: PeerAddress(context.channel.remoteAddress)
                )
                record.caller = caller
                try connections.claim(context.channel, for: caller.tenant)
                ConnectionTurn.current?.owner = .tenant(caller.tenant)
                context.caller = caller
                try take(caller, &record)
            }
        }
        let own = RequestResources(
            of: resources,
            for: context.caller?.tenant,
            bodyTimeout: connections.bounds.bodyTimeout
        )
        record.resources = own
        let prepared = context
        let handler = try handler(of: request, path: path, context: prepared)
        if audit != nil, handler.changes {
            record.slot = AuditSlot(record.entry(of: request, context))
        }
        let slot = record.slot
        var response = try await RequestResources.$current.withValue(own) {
            // One with a body begins when that is here.
            if !request.bringsBody { await own.beginWork() }
            defer { own.pauseWork() }
            guard let slot else { return try await handler.respond() }
            return try await slot.recording(handler.respond)
        }
        if request.method != .head {
            response.body = response.body.paced(on: context.channel, holding: own.answer)
        }
        return response
    }

    /// Counts a request for the limits of its key and its tenant.
    ///
    /// One that the key's limit refuses takes nothing from others of the tenant.
    private func take(_ caller: Caller, _ record: inout RequestRecord) throws(Problem) {
        if let limit = caller.keyRequestsPerSecondMax {
            let rate = keyRates.take(caller.key, limit: limit)
            record.keyRate = rate
            if rate.isExceeded { throw Problem(exhausted: .keyRequests) }
        }
        if let limit = caller.requestsPerSecondMax {
            let rate = rates.take(caller.tenant, limit: limit)
            record.rate = rate
            if rate.isExceeded { throw Problem(exhausted: .requests) }
        }
    }

    /// The rest of the way of a request that its key allows.
    private struct Handler: Sendable {
        /// Whether the request is for a change, by its method.
        let changes: Bool
        let respond: @Sendable () async throws -> Response
    }

    private func handler(
        of request: Request,
        path: String,
        context: APIContext
    ) throws -> Handler {
        guard let entry = table.entry(of: path),
            try !entry.isForTests || context.requireCaller().isForTests
        else { throw unknown(path) }
        let method = request.method.rawValue
        guard entry.methods.contains(method) else {
            var problem = Problem(.methodNotAllowed)
            problem.headers[.allow] = entry.methods.joined(separator: ", ")
            throw problem
        }
        let scope = entry.scopes[method]
        if let scope {
            let caller = try context.requireCaller()
            guard caller.scopes.contains(scope) else {
                throw Problem(needing: scope, insteadOf: caller.scopes)
            }
        }
        // What needs no key is also asked for by programs that add parameters of their own, such
        // as scrapers and browsers.
        let hasQuery = scope == nil || entry.methodsWithQuery.contains(method)
        return Handler(changes: request.method != .get && request.method != .head) { [routes] in
            if !hasQuery { _ = try QueryParameters(request, allowed: []) }
            return try await routes.respond(to: Self.routed(request), context: context)
        }
    }

    /// Returns the problem of a path that there is not.
    private func unknown(_ path: String) -> Problem {
        let isWithSlash = path.hasSuffix("/") && table.entry(of: String(path.dropLast())) != nil
        return Problem(.unknownRoute, isWithSlash ? "A path has no slash at its end." : nil)
    }

    /// Returns the request to route: a `GET` for a `HEAD`.
    ///
    /// A `HEAD` is answered as its `GET` would be, but without the body and without ranges, which
    /// RFC 9110 §14.2 defines for `GET` only.
    private static func routed(_ request: Request) -> Request {
        guard request.method == .head else { return request }
        var head = request.head
        head.method = .get
        head.headerFields[.range] = nil
        return Request(head: head, body: request.body)
    }

    private func answer(to problem: Problem, requestID: String) -> Response {
        let document = Self.document(of: problem, requestID: requestID)
        return Response(
            status: HTTPResponse.Status(code: problem.code.status),
            headers: document.fields,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: document.body))
        )
    }

    /// Returns the fields and the body of an answer that reports a problem.
    static func document(
        of problem: Problem,
        requestID: String
    ) -> (fields: HTTPFields, body: [UInt8]) {
        let details = ProblemDetails(problem, requestID: requestID)
        var fields = problem.headers
        fields[.contentType] = "application/problem+json"
        fields[.requestID] = requestID
        if problem.closesConnection { fields[.connection] = "close" }
        addSecurityFields(to: &fields)
        // The details contain nothing that cannot be encoded; should that ever change, the status
        // is still sent.
        return (fields, (try? WireEncoder.encode(details)) ?? [])
    }

    /// Adds header fields that keep browsers from rendering, sniffing, framing or storing an
    /// answer, which is data for programs; the page alone has rules of its own.
    private static func addSecurityFields(to fields: inout HTTPFields) {
        fields.set(noSniffing)
        fields.set(noReferrer)
        guard !fields.contains(.contentSecurityPolicy) else { return }
        fields.set(noStore)
        fields.append(noContent)
    }

    private static let noSniffing = HTTPField(name: .xContentTypeOptions, value: "nosniff")
    private static let noReferrer = HTTPField(name: .referrerPolicy, value: "no-referrer")
    private static let noStore = HTTPField(name: .cacheControl, value: "no-store")
    private static let noContent = HTTPField(
        name: .contentSecurityPolicy,
        value: "default-src 'none'; frame-ancestors 'none'"
    )
}
