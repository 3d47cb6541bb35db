import HTTPTypes
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
        /// The methods that have parameters in the query.
        let methodsWithQuery: Set<String>

        /// Whether the entry is the one for a path that fits both: where they first differ, it has
        /// the segment itself and not a parameter, as in the router.
        fileprivate func precedes(_ other: Entry) -> Bool {
            for (own, others) in zip(segments, other.segments) where (own == nil) != (others == nil)
            {
                return own != nil
            }
            return false
        }
    }

    /// The entries by their number of segments.
    private var entries: [Int: [Entry]] = [:]

    init(_ routes: [APIRouter.Route]) {
        for (path, routes) in Dictionary(grouping: routes, by: \.path) {
            let segments = Self.segments(of: path).map { segment in
                segment.first == UInt8(ascii: "{") ? nil : Array(segment)
            }
            var scopes: [String: KeyScope] = [:]
            for route in routes { scopes[route.method.rawValue] = route.scope }
            var methods = Set(routes.map(\.method.rawValue))
            var queries = Set(routes.filter(\.hasQuery).map(\.method.rawValue))
            if methods.contains("GET") {
                methods.insert("HEAD")
                scopes["HEAD"] = scopes["GET"]
                if queries.contains("GET") { queries.insert("HEAD") }
            }
            entries[segments.count, default: []].append(
                Entry(
                    segments: segments,
                    isForTests: path.hasPrefix(TestHookRoutes.path),
                    methods: methods.sorted(),
                    scopes: scopes,
                    methodsWithQuery: queries
                )
            )
        }
        entries = entries.mapValues { $0.sorted { $0.precedes($1) } }
    }

    /// Returns the entry of `path`, or nil when there is no such path.
    ///
    /// The router leaves empty segments out, so that a name that is empty by mistake would make the
    /// path that of something larger: no path that has one is known here, nor routed.
    func entry(of path: String) -> Entry? {
        let segments = Self.segments(of: path)
        return entries[segments.count]?.first { entry in
            zip(entry.segments, segments).allSatisfy { expected, found in
                expected.map { found.elementsEqual($0) } ?? !found.isEmpty
            }
        }
    }

    /// Returns the segments of a path, of which that before the first slash is empty.
    private static func segments(of path: String) -> [ArraySlice<UInt8>] {
        Array(path.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }
}
