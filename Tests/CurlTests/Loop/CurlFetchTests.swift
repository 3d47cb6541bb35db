import Curl
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CurlFetchTests {
    @Test func failsWithLongerBody() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: .text("12345")))
        let request = exchange.request("/")
        let error = await #expect(throws: CurlError.self) {
            try await exchange.loop.fetch(request, bodyMax: 4)
        }
        #expect(error?.code == .bodyTooLarge)
    }

    @Test func truncatesLongerBodyWhenAsked() async throws {
        let exchange = try Exchange()
        exchange.origin.when(
            "/",
            OriginScript([.head(200), .forever(Array("12345".utf8))])
        )
        let response = try await exchange.loop.fetch(
            exchange.request("/"),
            bodyMax: 7,
            overflow: .truncate
        )
        #expect(response.body == Array("1234512".utf8))
    }

    @Test func takesBodyOfExactlyTheBound() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(404, body: .text("12345")))
        let response = try await exchange.loop.fetch(exchange.request("/"), bodyMax: 5)
        #expect(response.body == Array("12345".utf8))
        #expect(response.head.status == 404)
    }
}
