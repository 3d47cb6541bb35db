import HTTPTypes
import Hummingbird
import TransferModel

/// The router of the API, to which each route is added with what it asks of a request.
///
/// Whoever adds a route names the scope that its key needs; without one there are only those that
/// ``ProbeRoutes`` and ``PageRoutes`` list.
final class APIRouter {
    /// What is known of a route.
    struct Route {
        let method: HTTPRequest.Method
        let path: String
        /// The scope of the key that it needs; nil for a route that needs none.
        let scope: KeyScope?
        /// Whether it has parameters in the query; that of any other must be empty.
        ///
        /// What the parameters of a route are, its handler says: ``QueryParameters``.
        let hasQuery: Bool
    }

    typealias Handler<Output> = @Sendable (Request, APIContext) async throws -> Output

    private let router = Router(context: APIContext.self)
    /// All routes, without the `HEAD` that each `GET` has beside it.
    private(set) var routes: [Route] = []

    func get(
        _ path: String,
        scope: KeyScope,
        hasQuery: Bool = false,
        _ handler: @escaping Handler<some ResponseGenerator>
    ) {
        add(Route(method: .get, path: path, scope: scope, hasQuery: hasQuery), handler)
    }

    func put(
        _ path: String,
        scope: KeyScope,
        hasQuery: Bool = false,
        _ handler: @escaping Handler<some ResponseGenerator>
    ) {
        add(Route(method: .put, path: path, scope: scope, hasQuery: hasQuery), handler)
    }

    func post(
        _ path: String,
        scope: KeyScope,
        hasQuery: Bool = false,
        _ handler: @escaping Handler<some ResponseGenerator>
    ) {
        add(Route(method: .post, path: path, scope: scope, hasQuery: hasQuery), handler)
    }

    func patch(
        _ path: String,
        scope: KeyScope,
        hasQuery: Bool = false,
        _ handler: @escaping Handler<some ResponseGenerator>
    ) {
        add(Route(method: .patch, path: path, scope: scope, hasQuery: hasQuery), handler)
    }

    func delete(
        _ path: String,
        scope: KeyScope,
        hasQuery: Bool = false,
        _ handler: @escaping Handler<some ResponseGenerator>
    ) {
        add(Route(method: .delete, path: path, scope: scope, hasQuery: hasQuery), handler)
    }

    /// Adds a route that answers without a key.
    ///
    /// One that is not listed as such is open to nobody but administrators.
    func get(withoutKey path: String, _ handler: @escaping Handler<some ResponseGenerator>) {
        let isListed = ProbeRoutes.paths.contains(path) || PageRoutes.paths.contains(path)
        let scope: KeyScope? = isListed ? nil : .admin
        add(Route(method: .get, path: path, scope: scope, hasQuery: false), handler)
    }

    private func add(_ route: Route, _ handler: @escaping Handler<some ResponseGenerator>) {
        routes.append(route)
        router.on(RouterPath(route.path), method: route.method, use: handler)
    }

    /// Returns the responder that calls the handlers of the routes.
    func buildResponder() -> RouterResponder<APIContext> { router.buildResponder() }
}
