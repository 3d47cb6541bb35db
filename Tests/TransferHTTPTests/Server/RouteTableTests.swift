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
}
