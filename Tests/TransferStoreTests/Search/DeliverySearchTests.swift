import Testing
import TransferTestSupport

/// Two dispatchers, one session and two subscriptions, in all possible orders.
///
/// A killed dispatcher is one that sleeps forever; the death of both is tried at every moment.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct DeliverySearchTests {
    @Test func dispatchersThatAreTakenForDeadInARow() async throws {
        try await search(DeliverySearchWorld.Allowance(takeovers: 2))
    }

    @Test func dispatchersThatSleepTooLong() async throws {
        try await search(DeliverySearchWorld.Allowance(expiries: 2))
    }

    @Test func answersThatAreLost() async throws {
        try await search(DeliverySearchWorld.Allowance(takeovers: 1, lostAnswers: 1))
    }

    @Test func receiversThatRefuse() async throws {
        try await search(
            DeliverySearchWorld.Allowance(refusals: 1, earlyReleases: 1)
        )
    }

    @Test func eventsThatExpire() async throws {
        try await search(DeliverySearchWorld.Allowance(takeovers: 1, expiredLogs: 1))
    }

    @Test func eventsThatExpireWhileAnswersAreLost() async throws {
        try await search(DeliverySearchWorld.Allowance(lostAnswers: 1, expiredLogs: 1))
    }

    /// Follows all paths that the allowance permits.
    private func search(
        _ allowance: DeliverySearchWorld.Allowance,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        var search = try await DeliverySearch()
        try await search.run(allowance)
        for violation in search.violations {
            Issue.record("\(violation)", sourceLocation: location)
        }
        // A search that had nothing to do would find nothing.
        guard search.violations.isEmpty else { return }
        #expect(search.moments > 100, sourceLocation: location)
    }
}
