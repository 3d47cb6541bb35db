import Testing
import TransferTestSupport

/// The campaign: several processes of the service, and for a while every possible fault.
@Suite(.serialized) struct ChaosCampaignTests {
    @Test(.timeLimit(.minutes(180)))
    func allHoldsWhateverHappens() async throws {
        let settings = ChaosSettings.current
        let plan = ChaosPlan(
            seed: settings.seed,
            minutes: settings.minutes,
            subscribers: ChaosRun.unsteadyCount
        )
        print("CHAOS_SEED=\(plan.seed) CHAOS_MINUTES=\(settings.minutes) make chaos")
        let run = try await ChaosRun(plan)
        try await run.pass()
        try await run.settle()
        let history = try await run.history()
        for violation in ChaosChecker.violations(of: history) {
            Issue.record("seed \(plan.seed): \(violation)")
        }
        let skipped = await run.fleet.skipped.map(\.rawValue).sorted()
        let messages = history.subscribers.map(\.messages.count).reduce(0, +)
        print(
            "\(plan.steps.count) steps, \(history.tasks.count) tasks, "
                + "\(history.requests.count) requests, \(messages) messages; "
                + "not possible here: \(skipped.isEmpty ? "nothing" : "\(skipped)")"
        )
        // A campaign in which nothing was done proves nothing.
        #expect(history.tasks.count >= plan.steps.count)
    }

    @Test func aPlanFollowsFromItsSeed() {
        let plan = ChaosPlan(seed: 7, minutes: 10, subscribers: 2)
        #expect(plan == ChaosPlan(seed: 7, minutes: 10, subscribers: 2))
        #expect(plan != ChaosPlan(seed: 8, minutes: 10, subscribers: 2))
        let kinds = Set(plan.steps.compactMap(\.fault?.kind))
        #expect(kinds == Set(ChaosFault.Kind.allCases))
    }
}
