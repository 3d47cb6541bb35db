import Testing

@testable import TransferEngine

/// Attempts that are divided among several loops.
extension ActiveAttemptsTests {
    @Test func aHostsConnectionsAreDividedAmongTheLoops() {
        let active = active(6, perHost: 6)
        let attempts = Self.attempts(7)
        for attempt in attempts { #expect(active.insert(attempt)) }
        let used = attempts.prefix(6).compactMap { $0.loop.map(ObjectIdentifier.init) }
        #expect(Set(used.prefix(3)).count == 3)
        #expect(Array(used.prefix(3)) == Array(used.suffix(3)))
        // A connection that was kept is there for the next one.
        #expect(!attempts[6].hasBegun)
        _ = active.remove(attempts[4].claim)
        #expect(attempts[6].loop === attempts[4].loop)
    }

    @Test func oneAttemptAfterAnotherIsOnTheSameLoop() {
        let active = active(6, perHost: 6)
        var loops: Set<ObjectIdentifier> = []
        for attempt in Self.attempts(20) {
            #expect(active.insert(attempt))
            if let loop = attempt.loop { loops.insert(ObjectIdentifier(loop)) }
            _ = active.remove(attempt.claim)
        }
        #expect(loops.count == 1)
    }
}
