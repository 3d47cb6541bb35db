import Testing
import TransferStore
import TransferTestSupport

/// Two workers and one task, with a crash or a pause at every step, in all orders there are.
@Suite(.postgresSchema) struct ExhaustiveSearchTests {
    @Test func workersThatSleepTooLong() async throws {
        try await search(SearchWorld.Allowance(takeovers: 2))
    }

    @Test func attemptsThatAreRepeated() async throws {
        try await search(SearchWorld.Allowance(takeovers: 1, retries: 1))
    }

    @Test func workersThatLeave() async throws {
        try await search(SearchWorld.Allowance(takeovers: 1, failures: 1, retirements: 1))
    }

    @Test func bytesThatAreGoneOnWith() async throws {
        try await search(SearchWorld.Allowance(takeovers: 1, checkpoints: 2))
    }

    @Test func workersThatCrash() async throws {
        try await search(SearchWorld.Allowance(crashes: 1, takeovers: 1, checkpoints: 1))
    }

    @Test func answersThatAreLost() async throws {
        try await search(SearchWorld.Allowance(takeovers: 1, lostAnswers: 1))
    }

    @Test func aClientThatCancels() async throws {
        try await search(
            SearchWorld.Allowance(takeovers: 1, checkpoints: 1, cancellations: 1)
        )
    }

    @Test func aClientThatSuspends() async throws {
        try await search(SearchWorld.Allowance(checkpoints: 2, suspensions: 1))
    }

    /// Goes all ways that the allowance leaves open.
    ///
    /// A worker that crashes is one that sleeps for ever but for its locks, so that crashes of their own
    /// are of use only where files are gone on with. That both crash is tried at every moment.
    private func search(
        _ allowance: SearchWorld.Allowance,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        var search = try await ExhaustiveSearch()
        try await search.run(allowance)
        for violation in search.violations {
            Issue.record("\(violation)", sourceLocation: location)
        }
        // A search that had nothing to do would find nothing.
        guard search.violations.isEmpty else { return }
        #expect(search.moments > 100, "\(search.steps) steps", sourceLocation: location)
    }
}
