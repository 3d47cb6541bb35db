import Testing
import TransferStore
import TransferTestSupport

/// Two workers and one task, with a crash or a pause at every step, in all possible orders.
@Suite(.postgresSchema) struct ExhaustiveSearchTests {
    @Test(arguments: [true, false]) func workersThatSleepTooLong(hasDestination: Bool) async throws
    {
        try await search(SearchWorld.Allowance(takeovers: 2), hasDestination)
    }

    @Test(arguments: [true, false]) func attemptsThatAreRepeated(hasDestination: Bool) async throws
    {
        try await search(SearchWorld.Allowance(takeovers: 1, retries: 1), hasDestination)
    }

    @Test(arguments: [true, false]) func workersThatLeave(hasDestination: Bool) async throws {
        try await search(
            SearchWorld.Allowance(takeovers: 1, failures: 1, retirements: 1),
            hasDestination
        )
    }

    @Test(arguments: [true, false]) func bytesThatAreGoneOnWith(hasDestination: Bool) async throws {
        try await search(SearchWorld.Allowance(takeovers: 1, checkpoints: 2), hasDestination)
    }

    @Test(arguments: [true, false]) func workersThatCrash(hasDestination: Bool) async throws {
        try await search(
            SearchWorld.Allowance(crashes: 1, takeovers: 1, checkpoints: 1),
            hasDestination
        )
    }

    @Test(arguments: [true, false]) func answersThatAreLost(hasDestination: Bool) async throws {
        try await search(SearchWorld.Allowance(takeovers: 1, lostAnswers: 1), hasDestination)
    }

    @Test(arguments: [true, false]) func commitsThatAreForgotten(hasDestination: Bool) async throws
    {
        try await search(
            SearchWorld.Allowance(crashes: 1, checkpoints: 1, lostCommits: 1),
            hasDestination
        )
    }

    /// Another task renames a file of equal size to the same name, at any moment.
    @Test func aNameThatAnotherTaskTakes() async throws {
        try await search(SearchWorld.Allowance(crashes: 1, takeovers: 1, rivals: 1), true)
    }

    @Test func aNameThatAnotherTaskTakesWhileAnswersAreLost() async throws {
        try await search(
            SearchWorld.Allowance(takeovers: 1, lostAnswers: 1, rivals: 1),
            true
        )
    }

    @Test(arguments: [true, false]) func aClientThatCancels(hasDestination: Bool) async throws {
        try await search(
            SearchWorld.Allowance(takeovers: 1, checkpoints: 1, cancellations: 1),
            hasDestination
        )
    }

    @Test(arguments: [true, false]) func aClientThatRetriesWhatItCancelled(
        hasDestination: Bool
    ) async throws {
        try await search(
            SearchWorld.Allowance(checkpoints: 1, cancellations: 1, clientRetries: 1),
            hasDestination
        )
    }

    @Test(arguments: [true, false]) func aClientThatRetriesWhatFailed(
        hasDestination: Bool
    ) async throws {
        try await search(
            SearchWorld.Allowance(takeovers: 1, failures: 1, checkpoints: 1, clientRetries: 1),
            hasDestination
        )
    }

    @Test(arguments: [true, false]) func aClientThatSuspends(hasDestination: Bool) async throws {
        try await search(SearchWorld.Allowance(checkpoints: 2, suspensions: 1), hasDestination)
    }

    /// Follows all paths that the allowance permits.
    ///
    /// Except for its locks, a crashed worker is one that sleeps forever, so separate crashes only
    /// matter when files are continued. The crash of both is tried at every moment.
    private func search(
        _ allowance: SearchWorld.Allowance,
        _ hasDestination: Bool,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        var search = try await ExhaustiveSearch()
        try await search.run(allowance, hasDestination: hasDestination)
        for violation in search.violations {
            Issue.record("\(violation)", sourceLocation: location)
        }
        // A search that had nothing to do would find nothing.
        guard search.violations.isEmpty else { return }
        #expect(search.moments > 100, "\(search.steps) steps", sourceLocation: location)
    }
}
