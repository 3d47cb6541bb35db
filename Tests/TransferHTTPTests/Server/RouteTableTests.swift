import HTTPTypes
import Hummingbird
import Testing

@testable import TransferHTTP

@Suite struct RouteTableTests {
    /// Whatever the order in which routes are added or kept, the table knows a path as the router
    /// does: by the segment itself before a parameter, from left to right.
    @Test func ofTwoPathsThatFitTheLiteralOneIsMeant() {
        let router = Router(context: APIContext.self)
        func add(_ path: String, _ method: HTTPRequest.Method) {
            router.on(RouterPath(path), method: method) { _, _ in HTTPResponse.Status.ok }
        }
        for number in 0..<16 {
            add("/p\(number)/{id}", .delete)
            add("/p\(number)/all", .put)
            add("/q\(number)/{id}/all", .delete)
            add("/q\(number)/all/{id}", .put)
        }
        let table = RouteTable(router.routes)
        for number in 0..<16 {
            #expect(table.entry(of: "/p\(number)/all")?.methods == ["PUT"])
            #expect(table.entry(of: "/p\(number)/other")?.methods == ["DELETE"])
            #expect(table.entry(of: "/q\(number)/all/all")?.methods == ["PUT"])
            #expect(table.entry(of: "/q\(number)/other/all")?.methods == ["DELETE"])
            #expect(table.entry(of: "/q\(number)/other/other") == nil)
            #expect(table.entry(of: "/p\(number)") == nil)
        }
    }

    /// The router leaves empty segments out, and would take the path for another one.
    @Test func aPathWithAnEmptySegmentIsUnknown() {
        let router = Router(context: APIContext.self)
        for path in ["/", "/p", "/p/{id}", "/p/{id}/all"] {
            router.on(RouterPath(path), method: .get) { _, _ in HTTPResponse.Status.ok }
        }
        let table = RouteTable(router.routes)
        for path in ["/", "/p", "/p/1", "/p/1/all"] { #expect(table.entry(of: path) != nil) }
        let empty = ["", "//", "//p", "/p/", "/p//", "/p//1", "/p/1/", "/p//all", "/p/1//all"]
        for path in empty + ["p"] { #expect(table.entry(of: path) == nil, "\(path)") }
    }
}
