import Testing
import TransferModel

@testable import TransferEngine

@Suite struct UnansweredClaimsTests {
    @Test func knowsTheFencesOfTheClaimAndNoOthers() {
        let identity = WorkerIdentity(incarnation: 7)
        let claims = UnansweredClaims()
        _ = identity.reserve(3)
        let lost = identity.reserve(2)
        claims.note(lost, count: 2)
        let first = lost.first.rawValue
        let known = (first - 1...first + 2).map { claims.contains(Fence(rawValue: $0)) }
        #expect(known == [false, true, true, false])
    }

    @Test func isBounded() {
        let identity = WorkerIdentity(incarnation: 7)
        let claims = UnansweredClaims()
        let lost = (0...1000).map { _ in identity.reserve(1) }
        for fences in lost { claims.note(fences, count: 1) }
        #expect(!claims.contains(lost[0].first))
        #expect(lost.dropFirst().allSatisfy { claims.contains($0.first) })
    }
}
