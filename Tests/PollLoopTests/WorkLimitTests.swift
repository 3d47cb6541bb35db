import Testing

@testable import PollLoop

@Suite struct WorkLimitTests {
    private let start = ContinuousClock.now

    private func use(idle: Int, all: Int) -> ProcessorUse {
        ProcessorUse(machine: ProcessorTimes(idle: idle, all: all), groups: [])
    }

    private func adapt(_ limit: inout WorkLimit, idle: [Int], inHand: Int) {
        var times = (idle: 0, all: 0)
        limit.adapt(to: use(idle: 0, all: 0), inHand: inHand, at: start)
        for (number, share) in idle.enumerated() {
            times.idle += share
            times.all += 100
            limit.adapt(
                to: use(idle: times.idle, all: times.all),
                inHand: inHand,
                at: start + WorkLimit.interval * (number + 1)
            )
        }
    }

    @Test func busyProcessorsHalveWhatIsInHand() {
        var limit = WorkLimit(min: 8, max: 4096)
        adapt(&limit, idle: [0], inHand: 64)
        #expect(limit.value == 32)
        adapt(&limit, idle: [0, 10, 39], inHand: 64)
        #expect(limit.value == 8)
    }

    @Test func idleProcessorsGiveItBackBitByBit() {
        var limit = WorkLimit(min: 8, max: 20)
        adapt(&limit, idle: [0, 0, 0], inHand: 20)
        #expect(limit.value == 8)
        adapt(&limit, idle: [40, 100], inHand: 8)
        #expect(limit.value == 8)
        adapt(&limit, idle: Array(repeating: 100, count: 3), inHand: 8)
        #expect(limit.value == 10)
        adapt(&limit, idle: Array(repeating: 100, count: 40), inHand: 8)
        #expect(limit.value == 20)
    }

    @Test func itIsLookedAtOnceAnInterval() {
        var limit = WorkLimit(min: 8, max: 20)
        #expect(limit.isDue(at: start))
        limit.adapt(to: use(idle: 0, all: 0), inHand: 8, at: start)
        #expect(!limit.isDue(at: start + .milliseconds(99)))
        #expect(limit.isDue(at: start + .milliseconds(100)))
    }

    @Test func processorTimesAreThoseOfTheKernel() throws {
        let times = try #require(
            ProcessorTimes("cpu  10 1 20 400 50 2 3 4 7 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
        )
        #expect(times == ProcessorTimes(idle: 450, all: 490))
        #expect(try #require(ProcessorTimes.now()).all > 0)
        for text in ["", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu a b c d e f g h"] {
            #expect(ProcessorTimes(text) == nil, "\(text)")
        }
    }

    @Test func idleSharesNeedTimeAndTheSameProcessors() {
        let earlier = ProcessorTimes(idle: 100, all: 200)
        #expect(ProcessorTimes(idle: 150, all: 300).idleShare(since: earlier) == 0.5)
        #expect(earlier.idleShare(since: earlier) == nil)
        #expect(ProcessorTimes(idle: 50, all: 300).idleShare(since: earlier) == nil)
    }

    @Test func aLimitedGroupCountsBesideTheMachine() {
        func use(idleOf100: Int?, usedOf100: Int?, at number: Int) -> ProcessorUse {
            ProcessorUse(
                machine: idleOf100.map { ProcessorTimes(idle: $0 * number, all: 100 * number) },
                groups: [
                    nil,
                    usedOf100.map {
                        ControlGroup.Usage(
                            limit: 1,
                            used: .milliseconds($0 * number),
                            moment: start + .milliseconds(100) * number
                        )
                    },
                ]
            )
        }
        for (idle, used, share) in [(90, 75, 0.25), (25, 0, 0.25), (75, nil, 0.75)] {
            let earlier = use(idleOf100: idle, usedOf100: used, at: 1)
            let later = use(idleOf100: idle, usedOf100: used, at: 2)
            #expect(later.idleShare(since: earlier) == share)
        }
        let blind = use(idleOf100: nil, usedOf100: 75, at: 1)
        #expect(use(idleOf100: nil, usedOf100: 75, at: 2).idleShare(since: blind) == 0.25)
        #expect(ProcessorUse(machine: nil, groups: []).idleShare(since: blind) == nil)
        let now = ProcessorUse.now()
        #expect(now.machine != nil && now.groups.count == ControlGroup.own.count)
    }
}
