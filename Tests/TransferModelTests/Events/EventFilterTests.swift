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

    /// Swift compares texts in a time that grows with the square of their combining marks.
    @Test(.timeLimit(.minutes(1))) func whatTakesLongToCompareNamesNothing() {
        let marks = String(repeating: "\u{300}\u{323}\u{334}", count: 200_000)
        #expect(EventFilter(["task.failed", "a\(marks)"]) == nil)
    }

    @Test func aStoredTermOfAnotherVersionMatchesNothing() {
        let filter = EventFilter(stored: ["task.done"])
        #expect(filter.terms == ["task.done"])
        #expect(!SessionEvent.Kind.allCases.contains(where: filter.contains))
    }
}
