import HTTPTypes
import Hummingbird
import TransferModel

/// The paths of the API with their methods and scopes, to distinguish an unknown path from a wrong
/// method and from a key that must not use it.
struct RouteTable: Sendable {
    /// What is known of a path.
    struct Entry: Sendable {
        /// The segments of the path, with nil for a parameter.
        fileprivate let segments: [[UInt8]?]
        /// Whether only tenants that were made for tests have the path.
        let isForTests: Bool
        /// The methods, in alphabetical order.
        let methods: [String]
        /// The scope that each method needs; absent for one that needs no key.
        let scopes: [String: KeyScope]
    }

    private var entries: [Entry] = []

    init(_ routes: [Router<APIContext>.RouteDescription]) {
        for (path, routes) in Dictionary(grouping: routes, by: { $0.path.description }) {
            let segments = Self.segments(of: path).map { segment in
                segment.first == UInt8(ascii: "{") ? nil : Array(segment)
            }
            var scopes: [String: KeyScope] = [:]
            for method in routes.map(\.method.rawValue) {
                scopes[method] = RouteScopes.scope(method, path)
            }
            var methods = Set(routes.map(\.method.rawValue))
            if methods.contains("GET") {
                methods.insert("HEAD")
                scopes["HEAD"] = scopes["GET"]
            }
            entries.append(
                Entry(
                    segments: segments,
                    isForTests: path.hasPrefix(TestHookRoutes.path),
                    methods: methods.sorted(),
                    scopes: scopes
                )
            )
        }
    }

    /// Returns the entry of `path`, or nil when there is no such path.
    func entry(of path: String) -> Entry? {
        let segments = Self.segments(of: path)
        return entries.first { entry in
            entry.segments.count == segments.count
                && zip(entry.segments, segments).allSatisfy { expected, found in
                    expected.map { found.elementsEqual($0) } ?? true
                }
        }
    }

    private static func segments(of path: String) -> [ArraySlice<UInt8>] {
        Array(path.utf8).split(separator: UInt8(ascii: "/"))
    }
}
