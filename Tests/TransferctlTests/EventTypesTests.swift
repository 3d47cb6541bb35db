import Testing

@testable import transferctl

@Suite struct EventTypesTests {
    @Test func areNamesAndFamilies() {
        let types = EventTypes(terms: ["task.failed", "session.*"])
        #expect(types.unknownTerm == nil)
        #expect(types.contains("task.failed") && types.contains("session.invalidated"))
        #expect(!types.contains("task.created") && !types.contains("sessions.all"))
        #expect(EventTypes(terms: []).contains("anything"))
    }

    @Test(arguments: ["bogus", "bogus.*", "task", "task.", "task*", "*", ".*", ""])
    func areKnown(term: String) {
        #expect(EventTypes(terms: ["task.failed", term]).unknownTerm == term)
    }
}
