import Foundation
import StandardWebhooks
import Testing
import TransferModel

@testable import TransferWebhooks

@Suite struct MessageBatcherTests {
    private let start = ContinuousClock.now

    private func batcher(
        _ form: DeliveryForm = .batch,
        tries: Int = 0,
        batchThrough: Int64? = nil
    ) -> MessageBatcher {
        let batch = batchThrough.map { _ in UUID() }
        let claim = DeliveryClaim(
            subscription: SubscriptionID(UUID()),
            tenant: TenantID(UUID()),
            session: SessionID(UUID()),
            fence: Fence(rawValue: 1),
            acknowledgedSequence: 0,
            attempt: tries,
            tried: tries > 0 ? TriedMessage(sequence: batchThrough ?? 1, batch: batch) : nil,
            endpoint: Endpoint(url: "", secrets: [.random()], ackKey: []),
            form: form
        )
        return MessageBatcher(HeldDelivery(claim, until: start + .seconds(30), at: start))
    }

    private func events(
        _ sequences: ClosedRange<Int64>,
        finishedAt finished: Set<Int64> = []
    ) -> [SessionEvent] {
        sequences.map { sequence in
            SessionEvent(
                id: UUID(),
                session: SessionID(UUID()),
                client: .default,
                sessionIdentifier: "nightly",
                sequence: sequence,
                kind: finished.contains(sequence) ? .sessionEventsFinished : .sessionInvalidated,
                generation: 1,
                occurredAt: Date(timeIntervalSince1970: 0),
                payload: .nothing
            )
        }
    }

    /// Returns the sequences of each message, and whether it is a batch.
    private func messages(_ batcher: MessageBatcher) -> [String] {
        batcher.messages.map { message in
            let text = message.events.map { "\($0.sequence)" }.joined(separator: " ")
            #expect(message.last.sequence == message.events.last?.sequence)
            return message.batch == nil ? text : "[\(text)]"
        }
    }

    private func filled(
        _ batcher: MessageBatcher,
        _ events: [SessionEvent],
        hasMore: Bool = false,
        size: Int = 100
    ) -> MessageBatcher {
        var batcher = batcher
        batcher.add(events, hasMore: hasMore, wanted: { _ in true }, size: { _ in size })
        return batcher
    }

    @Test func anEventHasAMessageOfItsOwnUnlessBatchesAreAskedFor() {
        #expect(messages(filled(batcher(.single), events(1...3))) == ["1", "2", "3"])
        #expect(messages(filled(batcher(), events(1...3))) == ["[1 2 3]"])
        #expect(messages(filled(batcher(), events(1...1))) == ["[1]"])
        #expect(messages(batcher()).isEmpty)
    }

    @Test func theEndOfAGenerationIsAlone() {
        let events = events(1...8, finishedAt: [3, 4, 8])
        #expect(messages(filled(batcher(), events)) == ["[1 2]", "3", "4", "[5 6 7]", "8"])
    }

    @Test func aBatchIsBoundedInEventsAndBytes() {
        let many = filled(batcher(), events(1...250)).messages
        #expect(many.map(\.events.count) == [100, 100, 50])
        let third = MessageBatch.bytesMax / 3
        #expect(messages(filled(batcher(), events(1...4), size: third)) == ["[1 2 3]", "[4]"])
        let tooLong = MessageBatch.bytesMax + 1
        #expect(messages(filled(batcher(), events(1...2), size: tooLong)) == ["[1]", "[2]"])
    }

    @Test func whatIsTriedAgainKeepsItsForm() {
        let events = events(1...5)
        #expect(
            messages(filled(batcher(tries: 1, batchThrough: 3), events)) == ["[1 2 3]", "[4 5]"]
        )
        #expect(messages(filled(batcher(tries: 1), events)) == ["1", "[2 3 4 5]"])
        #expect(
            messages(filled(batcher(.single, tries: 1, batchThrough: 3), events))
                == ["[1 2 3]", "4", "5"]
        )
        // The end of a generation was not subscribed to then, and is now.
        let further = self.events(1...5, finishedAt: [2])
        #expect(
            messages(filled(batcher(tries: 1, batchThrough: 3), further))
                == ["[1]", "2", "[3 4 5]"]
        )
        // It was taken since, or given up.
        #expect(messages(filled(batcher(batchThrough: 3), events)) == ["[1 2 3 4 5]"])
    }

    @Test func readingEndsWhenThereIsEnough() {
        #expect(!batcher().isFull)
        #expect(filled(batcher(), events(1...99)).isFull)
        #expect(!filled(batcher(), events(1...99), hasMore: true).isFull)
        #expect(filled(batcher(), events(1...100), hasMore: true).isFull)
        #expect(filled(batcher(), events(1...1), hasMore: true, size: MessageBatch.bytesMax).isFull)
        #expect(filled(batcher(.single), events(1...1), hasMore: true).isFull)
        #expect(batcher().pageLimit(16) == 16)
        #expect(filled(batcher(), events(1...96), hasMore: true).pageLimit(16) == 4)
        #expect(filled(batcher(), events(1...100), hasMore: true).pageLimit(16) == 1)
        #expect(filled(batcher(.single), events(1...99)).pageLimit(16) == 16)
        var unwanted = batcher()
        unwanted.add(events(1...1000), hasMore: true, wanted: { _ in false }, size: { _ in 0 })
        #expect(unwanted.isFull)
        #expect(unwanted.position == 1000)
        // A message that was tried is read to its end.
        for form in DeliveryForm.allCases {
            var retry = batcher(form, tries: 1, batchThrough: 1120)
            retry.add(events(1...1050), hasMore: true, wanted: { _ in false }, size: { _ in 0 })
            #expect(!filled(retry, events(1051...1119), hasMore: true).isFull)
            #expect(filled(retry, events(1051...1120), hasMore: true).isFull)
        }
    }

    @Test(arguments: DeliveryForm.allCases)
    func whatIsTriedAgainIsWithinBoundsThoughMoreIsAskedFor(form: DeliveryForm) {
        let retry = batcher(form, tries: 1, batchThrough: 303)
        #expect(!filled(retry, events(1...99), hasMore: true).isFull)
        #expect(filled(retry, events(1...100), hasMore: true).isFull)
        let counts = filled(retry, events(1...303), hasMore: true).messages.map(\.events.count)
        #expect(counts.first == MessageBatch.eventsMax)
        #expect(counts.allSatisfy { $0 <= MessageBatch.eventsMax })
        let third = MessageBatch.bytesMax / 3
        let large = filled(retry, events(1...4), hasMore: true, size: third)
        #expect(large.isFull)
        #expect(messages(large).first == "[1 2 3]")
    }

    @Test func theIdentifierIsThatOfTheEventsOfASubscription() throws {
        let events = events(1...3)
        let subscription = SubscriptionID(UUID())
        let message = try #require(OutgoingMessage(batch: events, of: subscription))
        let batch = try #require(message.batch)
        #expect(OutgoingMessage(batch: events, of: subscription)?.batch == batch)
        #expect([batch.first, message.last.sequence, Int64(batch.count)] == [1, 3, 3])
        #expect(OutgoingMessage(batch: events, of: SubscriptionID(UUID()))?.batch?.id != batch.id)
        #expect(
            OutgoingMessage(batch: Array(events[..<2]), of: subscription)?.batch?.id != batch.id
        )
        #expect(batch.id.uuidString.dropFirst(14).first == "8")
    }
}
