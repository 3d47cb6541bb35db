import Testing
import TransferModel

@Suite struct TaskPriorityTests {
    @Test func highestGoesFirst() {
        #expect(TaskPriority(1)?.rank == 0)
        #expect(TaskPriority(0)?.rank == 1000)
        #expect(TaskPriority(0.5) == .default)
        #expect(TaskPriority.default.value == 0.5)
    }

    @Test func givesBackEveryThousandth() {
        for step in 0...1000 {
            let priority = Double(step) / 1000
            #expect(TaskPriority(priority)?.value == priority)
        }
    }

    @Test(arguments: [-0.001, 1.001, .nan, .infinity, -.infinity])
    func refusesWhatLiesOutside(priority: Double) {
        #expect(TaskPriority(priority) == nil)
    }
}
