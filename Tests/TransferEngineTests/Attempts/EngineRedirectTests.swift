import Testing
import TransferEngine
import TransferModel
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineRedirectTests {
    private static let body = OriginBody.random(seed: 9, size: 5000)

    /// Makes `/0` lead over `count` redirects to the file.
    private func chain(_ count: Int, _ origin: LoopbackOrigin) {
        for number in 0..<count { origin.when("/\(number)", .redirect(to: "/\(number + 1)")) }
        origin.when("/\(count)", .response(body: Self.body))
    }

    @Test func followsTenRedirects() async throws {
        let fixture = try await EngineFixture()
        chain(10, fixture.origin)
        let id = try await fixture.submit(fixture.origin.url("/0"))
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .completed)
        #expect(task.attempt == 1)
        #expect(try fixture.content(task) == Self.body.bytes)
    }

    @Test func refusesTheEleventh() async throws {
        let fixture = try await EngineFixture()
        chain(11, fixture.origin)
        let id = try await fixture.submit(fixture.origin.url("/0"))
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.failure?.code == .badRedirect)
        #expect(fixture.origin.log.now.requests(at: "/11").isEmpty)
        #expect(fixture.files().isEmpty)
    }

    /// The origin redirects each request once, and an upload makes several.
    @Test func theRequestsOfAnUploadFollowNoMoreThanOneMay() async throws {
        let fixture = try await EngineFixture()
        let origin = try ResumableOrigin(.tus) { request in
            request.target.hasSuffix("?again")
                ? nil : .redirect(307, to: "\(request.path)?again")
        }
        let id = try await fixture.submit(origin.url) {
            $0.request = TransferRequest(upload: .data([1]))
            $0.options.resumableUpload = .tus
            $0.options.redirectsMax = 1
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.failure?.code == .badRedirect)
        #expect(origin.requests.map(\.method) == ["POST", "POST", "PATCH"])
    }

    /// An empty `Location` names no folder, and neither its page nor the body belongs there.
    @Test(arguments: ["GET", "PUT"])
    func aRedirectToNowhereEndsTheTask(method: String) async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/in/file", .redirect(307, to: ""))
        fixture.origin.when("/in/", .response(body: Self.body))
        let id = try await fixture.submit(fixture.origin.url("/in/file")) {
            guard method == "PUT" else { return }
            $0.request = TransferRequest(kind: .upload, method: method, upload: .data([1]))
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.failure?.code == .badRedirect)
        #expect(task.attempt == 1)
        #expect(fixture.origin.log.now.requests.map(\.path) == ["/in/file"])
    }

    @Test func leavesHTTPForNothingElse() async throws {
        let fixture = try await EngineFixture()
        for location in ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://u:p@127.0.0.1/"] {
            let task = try await fixture.download(.redirect(to: location))
            #expect(task.failure?.code == .badRedirect)
        }
    }

    @Test func theBodyOfARedirectIsNotPartOfTheFile() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        fixture.origin.when(
            "/moved",
            .response(
                302,
                headers: [("Location", "/file")],
                body: .random(seed: 1, size: 500_000)
            )
        )
        let id = try await fixture.submit(fixture.origin.url("/moved"))
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(try fixture.content(task) == Self.body.bytes)
    }

    /// An origin that serves the file only to who returns the cookie of its redirect.
    private func tellTale(_ origin: LoopbackOrigin) {
        origin.when(
            "/start",
            .response(302, headers: [("Location", "/file"), ("Set-Cookie", "seen=1; Path=/")])
        )
        origin.when("/file") { request in
            request["Cookie"] == "seen=1" ? .response(body: Self.body) : .redirect(to: "/start")
        }
    }

    @Test(arguments: [true, false], [true, false])
    func cookiesOfARedirectAreReturnedIfTheTaskKeepsThem(
        keeps: Bool,
        isUpload: Bool
    ) async throws {
        let fixture = try await EngineFixture()
        tellTale(fixture.origin)
        let id = try await fixture.submit(fixture.origin.url("/start")) {
            $0.options.keepsCookies = keeps ? true : nil
            if isUpload { $0.request = TransferRequest(upload: .data([1])) }
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == (keeps ? .completed : .failed))
        #expect(task.failure?.code == (keeps ? nil : .badRedirect))
    }

    @Test func theNextAttemptStartsWithoutCookies() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when(
            "/file",
            .response(503, headers: [("Set-Cookie", "seen=1; Path=/"), ("Retry-After", "0")])
        )
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.keepsCookies = true
            $0.options.attemptsMax = 2
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.attempt == 2)
        #expect(fixture.origin.log.now.requests.map { $0["Cookie"] } == [nil, nil])
    }

    @Test func anotherOriginGetsNoSecrets() async throws {
        let fixture = try await EngineFixture()
        let other = try LoopbackOrigin()
        defer { other.stop() }
        other.when("/file", .response(body: Self.body))
        fixture.origin.when("/same", .redirect(to: "/away"))
        fixture.origin.when("/away", .redirect(to: other.url("/back")))
        other.when("/back", .redirect(to: fixture.origin.url("/end")))
        fixture.origin.when("/end", .redirect(to: other.url("/file")))
        let id = try await fixture.submit(fixture.origin.url("/same")) {
            $0.headers = [
                HTTPHeader(name: "Authorization", value: "Bearer secret"),
                HTTPHeader(name: "Cookie", value: "secret"),
                HTTPHeader(name: "X-Api-Key", value: "secret"),
                HTTPHeader(name: "Accept", value: "image/png"),
            ]
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .completed)
        let own = fixture.origin.log.now
        #expect(own.requests(at: "/away").first?["Authorization"] == "Bearer secret")
        let foreign = other.log.now.requests + own.requests(at: "/end")
        #expect(foreign.count == 3)
        for request in foreign {
            // Dropped once, they do not come back, not even at the first origin.
            for name in ["Authorization", "Cookie", "X-Api-Key"] { #expect(request[name] == nil) }
            #expect(request["Accept"] == "image/png")
        }
    }
}
