import Testing

@testable import TransferHTTP

@Suite struct BodyPaceTests {
    private static let bounds: ConnectionBounds = {
        var bounds = ConnectionBounds()
        bounds.bodyGrace = .seconds(10)
        bounds.bodyBytesPerSecondMin = 1000
        return bounds
    }()

    private let start = ContinuousClock.now

    @Test func aBodyHasTimeForItsBytes() {
        var pace = BodyPace()
        pace.headRead(at: start)
        #expect(pace.deadline(Self.bounds) == nil)
        pace.ask(at: start)
        // Asked again, it has been asked since then all the same.
        pace.ask(at: start + .seconds(5))
        #expect(pace.deadline(Self.bounds) == start + .seconds(10))
        let wasAsked = pace.endAsking(isBody: true, at: start + .seconds(6))
        #expect(wasAsked)
        pace.add(3000)
        #expect(pace.deadline(Self.bounds) == nil)
        pace.ask(at: start + .seconds(60))
        #expect(pace.deadline(Self.bounds) == start + .seconds(60 + 10 + 3 - 6))
    }

    @Test func whatNobodyAskedForIsNotAnAnswer() {
        var pace = BodyPace()
        let wasAsked = pace.endAsking(isBody: true, at: start)
        #expect(!wasAsked)
    }

    /// Its head has come with the request before; its client then waited for the answer to that.
    @Test func theTimeOfTheAnswerBeforeIsNotTheBodys() {
        var pace = BodyPace()
        pace.headRead(at: start)
        pace.ask(at: start)
        pace.headRead(at: start + .seconds(60))
        #expect(pace.deadline(Self.bounds) == start + .seconds(70))
    }
}
