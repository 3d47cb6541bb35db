import Testing
import TransferModel

@Suite struct EventFilterTests {
    @Test func aKindIsThatKindAlone() throws {
        let filter = try #require(EventFilter(["task.failed"]))
        #expect(SessionEvent.Kind.allCases.filter(filter.contains) == [.taskFailed])
    }

    @Test func aFamilyIsAllItsKindsButThoseThatHaveToBeNamed() throws {
        let filter = try #require(EventFilter(["task.*", "session.invalidated"]))
        for kind in SessionEvent.Kind.allCases {
            let isExpected =
                kind.rawValue.hasPrefix("task.") && kind != .taskProgress
                || kind == .sessionInvalidated
            #expect(filter.contains(kind) == isExpected)
        }
    }

    @Test(arguments: [
        "task", "task.", "task*", "*", ".*", "ta.*", "task.fail*", "task.done", "", "TASK.*",
        "task.\u{0}",
    ])
    func whatNamesNothingIsRefused(term: String) {
        #expect(EventFilter(["task.failed", term]) == nil)
    }

    @Test func aStoredTermOfAnotherVersionMatchesNothing() {
        let filter = EventFilter(stored: ["task.done"])
        #expect(filter.terms == ["task.done"])
        #expect(!SessionEvent.Kind.allCases.contains(where: filter.contains))
    }
}
