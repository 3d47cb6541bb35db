import Testing

@testable import Curl

@Suite struct NameLookupsTests {
    private let start = ContinuousClock.now

    @Test func aNameIsAskedForOnceHoweverManyWait() throws {
        var lookups = NameLookups()
        let asked = lookups.wait(1, for: "a.test")
        let question = try #require(asked)
        let isAskedAgain = lookups.wait(2, for: "a.test") != nil
        let isAnotherAsked = lookups.wait(3, for: "b.test") != nil
        #expect(!isAskedAgain && isAnotherAsked)
        #expect(lookups.answered(question, ["127.0.0.1"], at: start) == [1, 2])
        #expect(lookups.known("a.test", at: start) == ["127.0.0.1"])
        #expect(lookups.known("a.test", at: start + .seconds(61)) == nil)
        #expect(lookups.known("b.test", at: start) == nil)
    }

    @Test func whatNobodyWaitsForIsNotAsked() throws {
        var lookups = NameLookups()
        let asked = lookups.wait(1, for: "a.test")
        let question = try #require(asked)
        lookups.leave(1, "a.test")
        #expect(question.ask() == nil)
        // A later caller makes a new lookup, and an old answer is not taken for the new one.
        let askedAnew = lookups.wait(2, for: "a.test")
        let second = try #require(askedAnew)
        #expect(lookups.answered(question, [], at: start).isEmpty)
        #expect(lookups.answered(second, [], at: start) == [2])
        #expect(lookups.known("a.test", at: start) == nil)
    }

    @Test(
        arguments: [
            ("http://a.test/", "a.test"), ("http://A.TEST:8080/", "a.test"),
            ("http://b\u{FC}cher.test/", "xn--bcher-kva.test"), ("http://127.0.0.1/", nil),
            ("http://127.1/", nil), ("http://[::1]/", nil), ("http://localhost/", nil),
            ("http://a.localhost/", nil),
        ] as [(String, String?)]
    )
    func whatHasToBeLookedUp(url: String, name: String?) throws {
        #expect(try CurlURL(url).nameToResolve == name)
    }
}
