import HTTPTypes
import Hummingbird
import TransferWire

/// The routes of the page at `/`, a client of the API that runs in browsers.
///
/// Its files are the same for everybody and need no key; what the page shows, it asks the API for
/// with the key of its user.
struct PageRoutes: Sendable {
    /// The paths as the router has them; nobody needs a key for them.
    static let paths: Set<String> = ["/", "/page/{file}"]

    /// What the page may do in a browser: use its own files and ask this service, nothing else.
    ///
    /// Text cannot become markup, not even by mistake, because no script may make it so.
    private static let contentSecurityPolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'
        """

    let files: PageFiles

    func add(to router: APIRouter) {
        router.get(withoutKey: "/") { request, _ in try answer(PageFiles.indexName, to: request) }
        router.get(withoutKey: "/page/{file}") { request, context in
            try answer(context.parameters.get("file") ?? "", to: request)
        }
    }

    /// Whether a request for this path is about the page, and answered without a key.
    static func owns(_ path: String) -> Bool { path == "/" || path.hasPrefix("/page/") }

    private func answer(_ name: String, to request: Request) throws -> Response {
        guard let file = files.file(named: name) else { throw Problem(.unknownRoute) }
        // Each file is asked for again at each visit, and sent only if it has changed: files of two
        // releases do not fit together.
        var headers: HTTPFields = [.eTag: file.etag, .cacheControl: "no-cache"]
        headers[.contentSecurityPolicy] = Self.contentSecurityPolicy
        headers[.crossOriginOpenerPolicy] = "same-origin"
        headers[.crossOriginResourcePolicy] = "same-origin"
        let isCurrent = request.headers.value(of: .ifNoneMatch).map {
            EntityTag.lists($0, file.etag)
        }
        if isCurrent == true { return Response(status: .notModified, headers: headers) }
        headers[.contentType] = file.mediaType
        return Response(
            status: .ok,
            headers: headers,
            body: ResponseBody(byteBuffer: file.body)
        )
    }
}
