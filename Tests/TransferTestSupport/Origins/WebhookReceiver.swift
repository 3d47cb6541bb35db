import Synchronization

/// A subscriber on 127.0.0.1 that answers as a test has planned and keeps the received messages.
package final class WebhookReceiver: Sendable {
    /// The answer to one message.
    package enum Answer: Sendable {
        /// A status without a body.
        case status(Int, headers: [(name: String, value: String)] = [])
        /// No answer until the gate opens, then 204.
        case hold(OriginGate)
        /// Anything else.
        case script(OriginScript)

        var script: OriginScript {
            switch self {
            case .status(let status, let headers): .response(status, headers: headers)
            case .hold(let gate): OriginScript([.wait(gate)] + OriginScript.response(204).steps)
            case .script(let script): script
            }
        }
    }

    private let origin: LoopbackOrigin
    private let plans = Mutex<[String: [Answer]]>([:])

    /// Listens on a port that the system chooses.
    package init() throws(HeldPort.Failure) { origin = try LoopbackOrigin() }

    deinit { origin.stop() }

    /// The log of the origin so far, for counts other than messages.
    package var log: OriginLog { origin.log }

    /// Opens a path for messages: each planned answer is given once, and then always 204.
    ///
    /// - Returns: the URL to subscribe with.
    @discardableResult
    package func open(_ path: String = "/hook", answers: [Answer] = []) -> String {
        plans.withLock { $0[path] = answers }
        origin.when(path) { [weak self] _ in
            let answer = self?.plans.withLock { plans in
                plans[path]?.isEmpty == false ? plans[path]?.removeFirst() : nil
            }
            return (answer ?? .status(204)).script
        }
        return origin.url(path)
    }

    /// Waits until `count` messages have arrived at a path.
    ///
    /// - Returns: all messages that have arrived there, at least `count`.
    /// - Throws: `CancellationError` when the test's time limit ends the wait.
    package func messages(
        _ count: Int,
        at path: String = "/hook"
    ) async throws -> [ReceivedWebhook] {
        await origin.log.arrived(count, at: path)
        let received = received(at: path)
        guard received.count >= count else { throw CancellationError() }
        return received
    }

    /// Returns the messages that have arrived at a path so far, in order of arrival.
    package func received(at path: String = "/hook") -> [ReceivedWebhook] {
        origin.log.now.requests(at: path).map(ReceivedWebhook.init)
    }
}
