import HTTPTypes
import Hummingbird
import Testing
import TransferModel

@testable import TransferHTTP

@Suite struct RouteTableTests {
    /// Whatever the order in which routes are added or kept, the table knows a path as the router
    /// does: by the segment itself before a parameter, from left to right.
    @Test func ofTwoPathsThatFitTheLiteralOneIsMeant() {
        let router = APIRouter()
        for number in 0..<16 {
            for path in ["/p\(number)/{id}", "/q\(number)/{id}/all"] {
                router.delete(path, scope: .control) { _, _ in HTTPResponse.Status.ok }
            }
            for path in ["/p\(number)/all", "/q\(number)/all/{id}"] {
                router.put(path, scope: .control) { _, _ in HTTPResponse.Status.ok }
            }
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
        let router = APIRouter()
        for path in ["/", "/p", "/p/{id}", "/p/{id}/all"] {
            router.get(path, scope: .read) { _, _ in HTTPResponse.Status.ok }
        }
        let table = RouteTable(router.routes)
        for path in ["/", "/p", "/p/1", "/p/1/all"] { #expect(table.entry(of: path) != nil) }
        let empty = ["", "//", "//p", "/p/", "/p//", "/p//1", "/p/1/", "/p//all", "/p/1//all"]
        for path in empty + ["p"] { #expect(table.entry(of: path) == nil, "\(path)") }
    }
}
