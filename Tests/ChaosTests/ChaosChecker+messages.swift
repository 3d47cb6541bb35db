extension ChaosChecker {
    mutating func check(_ subscriber: ChaosHistory.Subscriber) {
        checkEach(subscriber)
        for session in history.sessions {
            let wanted = session.events.filter { event in
                subscriber.wants.map { $0.contains(event.type) } ?? true
            }
            checkOrder(
                subscriber.messages.filter { $0.session == session.identifier },
                of: wanted,
                "\(subscriber.path) \(session.identifier)"
            )
        }
    }

    /// Checks each message by itself, and the repeated ones.
    private mutating func checkEach(_ subscriber: ChaosHistory.Subscriber) {
        var bodies: [String: String] = [:]
        for message in subscriber.messages {
            require(message.isSigned, .messagesAreSigned, "\(subscriber.path): \(message.id)")
            let first = bodies.updateValue(message.bodyDigest, forKey: message.id)
            require(
                first == nil || first == message.bodyDigest,
                .aRepeatedMessageIsTheSame,
                "\(subscriber.path): \(message.id)"
            )
        }
    }

    /// Checks that nothing is sent before all earlier events of its session were taken, and that
    /// all are taken.
    ///
    /// So the end of a generation is delivered after all of its other events.
    private mutating func checkOrder(
        _ messages: [ChaosHistory.Message],
        of wanted: [ChaosHistory.Event],
        _ place: String
    ) {
        let positions = Dictionary(
            zip(wanted.map(\.id), wanted.indices),
            uniquingKeysWith: { first, _ in first }
        )
        var taken = 0
        for message in messages {
            let found = message.events.compactMap { positions[$0] }
            require(
                found.count == message.events.count && !found.isEmpty,
                .messagesComeInOrder,
                "\(place): nobody asked for \(message.id)"
            )
            guard let first = found.first else { continue }
            require(
                first <= taken && found == Array(first..<first + found.count),
                .messagesComeInOrder,
                "\(place): event \(first + 1) came when \(taken) were taken"
            )
            if message.isTaken { taken = max(taken, first + found.count) }
        }
        require(
            taken == wanted.count,
            .eachSubscriberGetsEachEvent,
            "\(place): \(taken) of \(wanted.count) were taken"
        )
    }
}
