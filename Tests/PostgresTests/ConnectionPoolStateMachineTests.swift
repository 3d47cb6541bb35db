@testable import Postgres
import Testing

@Suite struct ConnectionPoolStateMachineTests {
    private let start = ContinuousClock.now
    private var later: ContinuousClock.Instant { start.advanced(by: .seconds(5)) }

    private func machine(
        connections: Int = 2,
        waiters: Int = 8,
        depth: Int = 2
    ) -> ConnectionPoolStateMachine {
        ConnectionPoolStateMachine(
            connectionsMax: connections,
            waitersMax: waiters,
            depthMax: depth
        )
    }

    @Test func firstCallerOpensConnectionAndGetsIt() {
        var machine = machine()
        #expect(machine.acquireNow() == nil)
        #expect(machine.acquire(1, until: later) == [.open(1, for: .passing)])
        #expect(machine.opened(1) == [.hand(1, 1)])
    }

    @Test func idleConnectionIsPreferredToNewOne() {
        var machine = machine()
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        #expect(machine.released(1) == [])
        #expect(machine.acquireNow() == 1)
    }

    @Test func busyConnectionsMakeRoomForNewOneUpToTheMaximum() {
        var machine = machine(connections: 2, depth: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        #expect(machine.acquire(2, until: later) == [.open(2, for: .passing)])
        #expect(machine.acquire(3, until: later) == [])
        #expect(machine.opened(2) == [.hand(2, 2)])
        #expect(machine.released(1) == [.hand(3, 1)])
    }

    @Test func callersShareLeastBusyConnectionOnlyAtTheMaximum() {
        var machine = machine(connections: 2, depth: 2)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        #expect(machine.acquireNow() == nil)
        #expect(machine.acquire(2, until: later) == [.open(2, for: .passing)])
        #expect(machine.opened(2) == [.hand(2, 2)])
        #expect(machine.acquireNow() == 1)
        #expect(machine.acquireNow() == 2)
        #expect(machine.acquireNow() == nil)
        #expect(machine.acquire(3, until: later) == [])
        #expect(machine.released(2) == [.hand(3, 2)])
    }

    @Test func whoSpendsAConnectionLeavesThoseThatHaveServed() {
        var machine = machine()
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        _ = machine.released(1)
        #expect(machine.acquireNow(for: .spending) == nil)
        let actions = machine.acquire(2, for: .spending, until: later)
        #expect(actions == [.open(2, for: .spending)])
        // Nobody waits behind it.
        #expect(machine.acquireNow() == 1)
        #expect(machine.opened(2) == [.hand(2, 2)])
        #expect(machine.retired(2) == [.close(2)])
    }

    @Test func connectionThatHasServedNobodyIsSpent() {
        var machine = machine()
        #expect(machine.start() == [.open(1, for: .passing)])
        #expect(machine.opened(1) == [])
        #expect(machine.acquireNow(for: .spending) == 1)
    }

    @Test func atTheMaximumTheYoungestIdleConnectionIsSpent() {
        var machine = machine(connections: 3)
        for waiter in 1...3 { _ = machine.acquire(waiter, until: later) }
        for connection in 1...3 { _ = machine.opened(connection) }
        for connection in 1...2 { _ = machine.released(connection) }
        #expect(machine.acquireNow(for: .spending) == 2)
        #expect(machine.retired(2) == [.close(2)])
    }

    @Test func whoSpendsWaitsForAConnectionInItsTurn() {
        var machine = machine(connections: 1, depth: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        let sooner = start.advanced(by: .seconds(1))
        #expect(machine.acquire(2, for: .spending, until: sooner) == [])
        #expect(machine.acquire(3, until: later) == [])
        #expect(machine.nextDeadline == sooner)
        #expect(machine.released(1) == [.hand(2, 1)])
        #expect(machine.nextDeadline == later)
        #expect(machine.retired(1) == [.close(1), .open(2, for: .passing)])
        #expect(machine.opened(2) == [.hand(3, 2)])
        #expect(machine.acquire(4, for: .spending, until: later) == [])
        #expect(machine.expire(now: later) == [.refuse(4, .exhausted)])
        #expect(machine.acquire(5, for: .spending, until: later) == [])
        #expect(machine.close() == [.refuse(5, .closed), .close(2)])
    }

    @Test func releasedConnectionServesWaiterBeforeTheNewOneIsOpen() {
        var machine = machine(depth: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        #expect(machine.acquire(2, until: later) == [.open(2, for: .passing)])
        #expect(machine.released(1) == [.hand(2, 1)])
        #expect(machine.opened(2) == [])
        #expect(machine.acquireNow() == 2)
    }

    @Test func retiredConnectionIsClosedAndServesNobodyElse() {
        var machine = machine(connections: 1, depth: 2)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        #expect(machine.acquireNow() == 1)
        #expect(machine.acquire(2, until: later) == [])
        #expect(machine.retired(1) == [.close(1), .open(2, for: .passing)])
        #expect(machine.released(1) == [])
        #expect(machine.retired(1) == [])
        #expect(machine.opened(2) == [.hand(2, 2)])
    }

    @Test func lastRetiredConnectionIsReplaced() {
        var machine = machine()
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        #expect(machine.retired(1) == [.close(1), .open(2, for: .passing)])
    }

    @Test func closedMachineReplacesNoRetiredConnection() {
        var machine = machine()
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        #expect(machine.close() == [.close(1)])
        #expect(machine.retired(1) == [])
    }

    @Test func newcomerDoesNotOvertakeWaiters() {
        var machine = machine(connections: 1, depth: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        _ = machine.acquire(2, until: later)
        _ = machine.acquire(3, until: later)
        #expect(machine.acquireNow() == nil)
        #expect(machine.released(1) == [.hand(2, 1)])
        #expect(machine.released(1) == [.hand(3, 1)])
    }

    @Test func waitersBeyondTheBoundAreRefused() {
        var machine = machine(connections: 1, waiters: 1, depth: 1)
        _ = machine.acquire(1, until: later)
        #expect(machine.acquire(2, until: later) == [.refuse(2, .exhausted)])
    }

    @Test func waiterIsRefusedAtItsDeadlineAndNotBefore() {
        var machine = machine(connections: 1, depth: 1)
        _ = machine.acquire(1, until: start.advanced(by: .seconds(1)))
        _ = machine.acquire(2, until: start.advanced(by: .seconds(2)))
        #expect(machine.nextDeadline == start.advanced(by: .seconds(1)))
        #expect(machine.expire(now: start) == [])
        #expect(machine.expire(now: start.advanced(by: .seconds(1))) == [.refuse(1, .exhausted)])
        #expect(machine.nextDeadline == start.advanced(by: .seconds(2)))
        #expect(machine.opened(1) == [.hand(2, 1)])
        #expect(machine.nextDeadline == nil)
    }

    @Test func cancelledWaiterLeavesTheQueue() {
        var machine = machine(connections: 1, depth: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.acquire(2, until: later)
        #expect(machine.cancel(1) == [.refuse(1, .cancelled)])
        #expect(machine.cancel(1) == [])
        #expect(machine.opened(1) == [.hand(2, 1)])
        #expect(machine.cancel(2) == [])
    }

    @Test func refusingServerFailsAllWaitersAtOnceAndNewcomersUntilTheRetry() {
        var machine = machine(connections: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.acquire(2, until: later)
        #expect(
            machine.openFailed(1) == [
                .refuse(1, .unavailable), .refuse(2, .unavailable), .retry(failureCount: 1),
            ]
        )
        #expect(machine.acquire(3, until: later) == [.refuse(3, .unavailable)])
        #expect(machine.retryDue() == [.open(2, for: .passing)])
        #expect(machine.acquire(4, until: later) == [])
        #expect(
            machine.openFailed(2) == [.refuse(4, .unavailable), .retry(failureCount: 2)]
        )
        #expect(machine.retryDue() == [.open(3, for: .passing)])
        #expect(machine.opened(3) == [])
        #expect(machine.acquireNow() == 3)
    }

    @Test func oneOfSeveralTriesFailingDoesNotFailWaiters() {
        var machine = machine(connections: 2, depth: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.acquire(2, until: later)
        #expect(machine.openFailed(1) == [.retry(failureCount: 1)])
        #expect(machine.opened(2) == [.hand(1, 2)])
        #expect(machine.released(2) == [.hand(2, 2)])
    }

    @Test(arguments: ConnectionPoolStateMachine.Use.allCases)
    func serviceEndsTheRowOfFailures(use: ConnectionPoolStateMachine.Use) {
        var machine = machine(connections: 1)
        _ = machine.start()
        _ = machine.openFailed(1)
        _ = machine.retryDue()
        _ = machine.opened(2)
        #expect(machine.acquireNow(for: use) == 2)
        switch use {
        case .passing:
            _ = machine.released(2)
            #expect(machine.lost(2) == [.open(3, for: .passing)])
        case .spending:
            #expect(machine.retired(2) == [.close(2), .open(3, for: .passing)])
        }
        #expect(machine.openFailed(3) == [.retry(failureCount: 1)])
    }

    @Test func lostConnectionIsReplaced() {
        var machine = machine(connections: 1, depth: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        _ = machine.released(1)
        #expect(machine.lost(1) == [.open(2, for: .passing)])
        #expect(machine.lost(1) == [])
        #expect(machine.released(1) == [])
    }

    @Test func waitersOfLostConnectionWaitForItsReplacement() {
        var machine = machine(connections: 1, depth: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        _ = machine.acquire(2, until: later)
        _ = machine.acquire(3, until: later)
        _ = machine.released(1)
        #expect(machine.lost(1) == [.open(2, for: .passing)])
        #expect(machine.opened(2) == [.hand(3, 2)])
    }

    @Test func rejectedConnectionIsReplacedAfterAPause() {
        var machine = machine(connections: 1, depth: 2)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        #expect(machine.acquireNow() == 1)
        _ = machine.released(1)
        #expect(machine.rejected(1) == [.close(1), .retry(failureCount: 1)])
        #expect(machine.rejected(1) == [])
        #expect(machine.acquire(2, until: later) == [.refuse(2, .unavailable)])
        #expect(machine.retryDue() == [.open(2, for: .passing)])
    }

    @Test func connectionThatNeverServedIsNotReplacedAtOnce() {
        var machine = machine()
        _ = machine.start()
        _ = machine.opened(1)
        #expect(machine.lost(1) == [.retry(failureCount: 1)])
    }

    @Test func connectionThatEndsBeforeItIsKnownToBeOpenIsDiscarded() {
        var machine = machine()
        _ = machine.acquire(1, until: later)
        #expect(machine.lost(1) == [])
        #expect(
            machine.opened(1) == [
                .close(1), .refuse(1, .unavailable), .retry(failureCount: 1),
            ]
        )
    }

    @Test func idleConnectionsArePingedOnce() {
        var machine = machine(depth: 1)
        _ = machine.start()
        _ = machine.opened(1)
        #expect(machine.takeIdle() == [1])
        #expect(machine.takeIdle() == [])
        _ = machine.released(1)
        #expect(machine.acquireNow() == 1)
    }

    @Test func closingRefusesWaitersAndClosesConnectionsEvenLateOnes() {
        var machine = machine(connections: 2, depth: 1)
        _ = machine.acquire(1, until: later)
        _ = machine.opened(1)
        _ = machine.acquire(2, until: later)
        #expect(machine.close() == [.refuse(2, .closed), .close(1)])
        #expect(machine.acquireNow() == nil)
        #expect(machine.acquire(3, until: later) == [.refuse(3, .closed)])
        #expect(machine.opened(2) == [.close(2)])
        #expect(machine.retryDue() == [])
        #expect(machine.start() == [])
    }
}
