import HTTPTypes
import Hummingbird

/// The paths of the API with their methods, to distinguish an unknown path from a wrong method.
struct RouteTable: Sendable {
    private struct Entry: Sendable {
        /// The segments of the path, with nil for a parameter.
        let segments: [[UInt8]?]
        var methods: Set<String>
    }

    private var entries: [Entry] = []

    init(_ routes: [Router<APIContext>.RouteDescription]) {
        for (path, routes) in Dictionary(grouping: routes, by: { $0.path.description }) {
            let segments = Self.segments(of: path).map { segment in
                segment.first == UInt8(ascii: "{") ? nil : Array(segment)
            }
            var methods = Set(routes.map(\.method.rawValue))
            if methods.contains("GET") { methods.insert("HEAD") }
            entries.append(Entry(segments: segments, methods: methods))
        }
    }

    /// Returns the methods of `path` in alphabetical order, or nil when there is no such path.
    func methods(of path: String) -> [String]? {
        let segments = Self.segments(of: path)
        let entry = entries.first { entry in
            entry.segments.count == segments.count
                && zip(entry.segments, segments).allSatisfy { expected, found in
                    expected.map { found.elementsEqual($0) } ?? true
                }
        }
        return entry?.methods.sorted()
    }

    private static func segments(of path: String) -> [ArraySlice<UInt8>] {
        Array(path.utf8).split(separator: UInt8(ascii: "/"))
    }
}
