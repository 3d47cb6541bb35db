import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Changes of the headers that are sent with messages, whose values nobody can read back.
extension SubscriptionTests {
    /// JSON Merge Patch (RFC 7396), with names of headers as RFC 9110 §5.1 compares them.
    @Test func headersAreChangedOneByOne() async throws {
        try await APIServer.run { server in
            let location = try await Self.subscribe(
                server,
                #"{"url": "https://receiver.example/", "headers": {"A": "1", "X-Key": "2"}}"#
            )
            func names(_ headers: String) async throws -> [String]? {
                try await server.send("PATCH", location, #"{"headers": \#(headers)}"#)
                    .json(SubscriptionDocument.self).headerNames
            }
            #expect(try await names(#"{"C": "3"}"#) == ["A", "C", "X-Key"])
            #expect(try await names(#"{"x-key": "4", "C": null, "D": null}"#) == ["A", "x-key"])
            #expect(try await names("{}") == ["A", "x-key"])
            let id = try #require(UUID(uuidString: String(location.suffix(36))))
            let stored = try await server.stores.subscriptions.subscription(
                tenant: server.first.id,
                id: SubscriptionID(id)
            )
            #expect(stored?.settings.headers.map(\.value) == ["1", "4"])
            let many = (0..<19).map { #""N\#($0)": "x""# }.joined(separator: ", ")
            let answer = try await server.send("PATCH", location, #"{"headers": {\#(many)}}"#)
            #expect(answer.faults == ["/headers too_many_headers"])
            #expect(try await names("null") == nil)
        }
    }

    /// Whoever may change the URL cannot read the headers, and could have them sent to himself.
    @Test func noHeaderGoesToAnotherOriginUnlessItsValueIsGivenAgain() async throws {
        try await APIServer.run { server in
            let location = try await Self.subscribe(
                server,
                #"{"url": "https://receiver.example/", "headers": {"A": "1", "X-Key": "2"}}"#
            )
            func patch(_ body: String) async throws -> HTTPClient.Answer {
                try await server.send("PATCH", location, body)
            }
            for url in [
                "https://other.example/", "http://receiver.example/",
                "https://receiver.example:8443/", "https://receiver.example.evil.example/",
            ] {
                for headers in ["", #", "headers": {}"#, #", "headers": {"a": "1", "B": "2"}"#] {
                    let answer = try await patch(#"{"url": "\#(url)"\#(headers)}"#)
                    #expect(answer.status == 422)
                    #expect(answer.faults == ["/headers required"], "\(url) \(headers)")
                }
            }
            #expect(try await patch(#"{"url": "https://RECEIVER.example:443/b"}"#).status == 200)
            let given = #"{"url": "https://other.example/", "headers": {"a": "1", "X-Key": null}}"#
            let moved = try await patch(given).json(SubscriptionDocument.self)
            #expect(moved.url == "https://other.example/")
            #expect(moved.headerNames == ["a"])
            let none = #"{"url": "https://third.example/", "headers": null}"#
            #expect(try await patch(none).json(SubscriptionDocument.self).headerNames == nil)
            #expect(try await patch(#"{"url": "https://fourth.example/"}"#).status == 200)
        }
    }

    @Test func changesOfHeadersAtTheSameTimeAreAllMade() async throws {
        try await APIServer.run { server in
            let location = try await Self.subscribe(server)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<8 {
                    let body = #"{"headers": {"N\#(number)": "x"}}"#
                    group.addTask { try await server.send("PATCH", location, body).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            let all = try await server.send("GET", location).json(SubscriptionDocument.self)
            #expect(all.headerNames?.count == 8)
        }
    }
}
