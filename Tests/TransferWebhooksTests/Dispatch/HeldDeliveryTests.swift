import Foundation
import StandardWebhooks
import Testing
import TransferModel

@testable import TransferWebhooks

@Suite struct HeldDeliveryTests {
    private let start = ContinuousClock.now
    private let interval: Duration = .milliseconds(100)

    private func held(tries: Int = 0, awaitsAck: Bool = false) -> HeldDelivery {
        let claim = DeliveryClaim(
            subscription: SubscriptionID(UUID()),
            tenant: TenantID(UUID()),
            session: SessionID(UUID()),
            fence: Fence(rawValue: 1),
            acknowledgedSequence: 5,
            attempt: tries,
            awaitsAck: awaitsAck,
            tried: tries > 0 ? TriedMessage(sequence: 6) : nil,
            endpoint: Endpoint(url: "", secrets: [.random()], ackKey: [])
        )
        return HeldDelivery(claim, until: start + .seconds(30), at: start)
    }

    private func message(_ sequence: Int64) -> MessageName {
        MessageName(id: UUID(), sequence: sequence, batch: nil)
    }

    private let sent = SentMessage(
        at: Date(),
        duration: .zero,
        outcome: .delivered(status: 204),
        answer: nil
    )

    @Test func recordsWhatAQuickReceiverTookTogether() {
        var held = held()
        for (sequence, milliseconds) in [(6, 1), (7, 50), (8, 99)] as [(Int64, Int)] {
            let now = start + .milliseconds(milliseconds)
            let isDue = held.took(message(sequence), sent, at: now, recordInterval: interval)
            #expect(!isDue)
        }
        let last = start + interval
        let isDue = held.took(message(9), sent, at: last, recordInterval: interval)
        #expect(isDue)
        #expect(held.recordedCursor == 5)
        held.recorded(until: start + .seconds(60), at: start + interval)
        #expect(held.recordedCursor == 9)
        #expect(held.unrecorded == nil)
        let next = start + .milliseconds(150)
        let isDueAgain = held.took(message(10), sent, at: next, recordInterval: interval)
        #expect(!isDueAgain)
    }

    @Test func recordsAtOnceWhatWasTriedBefore() {
        var held = held(tries: 2)
        let isDue = held.took(message(6), sent, at: start, recordInterval: interval)
        #expect(isDue)
        #expect(held.isLogged)
        held.recorded(until: start + .seconds(60), at: start)
        let isDueAgain = held.took(message(7), sent, at: start, recordInterval: interval)
        #expect(!isDueAgain)
    }

    @Test func asksTheStoreOnceItHasWaited() {
        var held = held()
        #expect(!held.mustAsk(at: start + .milliseconds(99), recordInterval: interval))
        #expect(held.mustAsk(at: start + interval, recordInterval: interval))
        held.asked(isCurrent: true, at: start + interval)
        #expect(!held.mustAsk(at: start + .milliseconds(150), recordInterval: interval))
        #expect(held.isCurrent)
        held.asked(isCurrent: false, at: start + .milliseconds(150))
        #expect(!held.isCurrent)
    }

    /// A store that answers slowly is not asked before each message; what has failed here meanwhile
    /// may have come too late for its answer.
    @Test func anAnswerIsAsOldAsItsQuestionForFailuresAlone() {
        var held = held()
        held.asked(isCurrent: true, since: start, at: start + .milliseconds(150))
        #expect(held.askedAt == start)
        #expect(!held.mustAsk(at: start + .milliseconds(249), recordInterval: interval))
        #expect(held.mustAsk(at: start + .milliseconds(250), recordInterval: interval))
    }

    @Test func neverGoesBack() {
        var held = held()
        held.passed(8)
        held.passed(7)
        #expect(held.cursor == 8)
    }

    /// What was not asked for may be asked for since.
    @Test func isCertainOfNothingBehindWhatItPassed() {
        var held = held()
        func take(_ sequence: Int64, _ batch: MessageBatch? = nil) {
            let name = MessageName(id: UUID(), sequence: sequence, batch: batch)
            _ = held.took(name, sent, at: start, recordInterval: interval)
        }
        take(6)
        take(9, MessageBatch(id: UUID(), first: 7, count: 3))
        #expect(held.certainCursor == 9)
        take(11)
        take(12)
        held.passed(14)
        #expect(held.cursor == 14)
        #expect(held.certainCursor == 9)
        held.recorded(until: start + .seconds(60), at: start)
        held.asked(isCurrent: false, at: start)
        #expect(held.certainCursor == 9)
        held.asked(isCurrent: true, at: start)
        #expect(held.certainCursor == 14)
        take(18, MessageBatch(id: UUID(), first: 15, count: 3))
        #expect(held.certainCursor == 14)
    }

    /// It is asked for no more than it was when these events had been read.
    @Test func isCertainOfWhatWasReadBeforeTheStoreWasAsked() {
        var held = held()
        held.asked(isCurrent: true, havingRead: 9, at: start)
        #expect(held.certainCursor == 5)
        _ = held.took(message(7), sent, at: start, recordInterval: interval)
        #expect(held.certainCursor == 7)
        // A later answer takes nothing of that back.
        held.asked(isCurrent: true, at: start)
        held.passed(9)
        #expect(held.certainCursor == 9)
        held.passed(10)
        #expect(held.certainCursor == 9)
    }

    @Test(arguments: [(9, false), (10, true), (11, true)])
    func givesUpWhatIsNeverAcknowledged(tries: Int, isGivenUp: Bool) {
        let awaiting = held(tries: tries, awaitsAck: true)
        #expect(awaiting.isUnacknowledged(message(6), after: 9) == isGivenUp)
        #expect(!awaiting.isUnacknowledged(message(7), after: 9))
        #expect(!held(tries: tries).isUnacknowledged(message(6), after: 9))
        var later = awaiting
        later.passed(6)
        #expect(!later.isUnacknowledged(message(6), after: 9))
    }

    @Test func triesAreThoseOfOneMessage() {
        var held = held(tries: 9)
        #expect(held.tries(of: message(6)) == 9)
        #expect(held.tries(of: message(7)) == 0)
        let batch = MessageBatch(id: UUID(), first: 6, count: 1)
        #expect(held.tries(of: MessageName(id: batch.id, sequence: 6, batch: batch)) == 0)
        let isDue = held.took(message(7), sent, at: start, recordInterval: interval)
        #expect(!isDue)
        #expect(!held.isLogged)
        held.recorded(until: start + .seconds(60), at: start)
        #expect(held.tries(of: message(6)) == 0)
    }
}
