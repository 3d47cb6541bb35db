import Synchronization
import TransferTestSupport

/// Subscribers on one port that answer as a plan says and that can be absent for a while.
final class UnsteadyReceiver: Sendable {
    private struct State {
        var origin: LoopbackOrigin?
        /// The remaining answers of each path that differ from 204.
        var answers: [String: [ReceiverAnswer]] = [:]
        /// The gate that opens when late answers are due.
        var gate = OriginGate()
        var messages: [String: [ArrivedMessage]] = [:]
    }

    var port: UInt16 { held.number }
    /// Its port, also while it is absent.
    private let held: HeldPort
    private let state: Mutex<State>

    init() throws {
        held = try HeldPort()
        state = Mutex(State(origin: try LoopbackOrigin(port: held.number)))
    }

    deinit { state.withLock { $0.origin }?.stop() }

    /// Opens a path.
    ///
    /// - Returns: the URL to subscribe with.
    func open(_ path: String, _ answers: [ReceiverAnswer]) -> String {
        state.withLock { state in
            state.answers[path] = answers
            state.messages[path] = []
            if let origin = state.origin { serve(path, at: origin) }
        }
        return "http://127.0.0.1:\(port)\(path)"
    }

    /// Returns the messages that have arrived at a path, in order of arrival.
    func messages(at path: String) -> [ArrivedMessage] {
        state.withLock { $0.messages[path, default: []] }
    }

    /// Refuses connections from now on.
    func leave() {
        state.withLock { state in
            state.origin?.stop()
            state.origin = nil
        }
    }

    /// Accepts connections again, on the same port.
    func comeBack() async throws {
        guard state.withLock({ $0.origin }) == nil else { return }
        try await eventually("the port is free again") {
            guard let origin = try? LoopbackOrigin(port: port) else { return false }
            state.withLock { state in
                for path in state.messages.keys { serve(path, at: origin) }
                state.origin = origin
            }
            return true
        }
    }

    /// Gives the late answers; further ones wait for the next call.
    func giveLateAnswers() {
        state.withLock { state in
            state.gate.open()
            state.gate = OriginGate()
        }
    }

    /// Takes every message from now on.
    func calmDown() {
        state.withLock { state in
            for path in state.answers.keys { state.answers[path] = [] }
        }
        giveLateAnswers()
    }

    private func serve(_ path: String, at origin: LoopbackOrigin) {
        origin.when(path) { [weak self] request in
            self?.answer(request, at: path) ?? .response(500)
        }
    }

    /// Records a message before it is answered: the service cannot know of the answer earlier.
    private func answer(_ request: OriginRequest, at path: String) -> OriginScript {
        state.withLock { state in
            let isPlanned = state.answers[path]?.isEmpty == false
            let answer = (isPlanned ? state.answers[path]?.removeFirst() : nil) ?? .taken
            state.messages[path, default: []].append(ArrivedMessage(request, answer))
            return switch answer {
            case .taken: .response(204)
            case .takenLate: OriginScript([.wait(state.gate)] + OriginScript.response(204).steps)
            case .refused: .response(500)
            case .throttled: .response(503, headers: [("Retry-After", "1")])
            case .lost: OriginScript([.reset])
            case .garbled: .raw("not HTTP at all\r\n\r\n")
            }
        }
    }
}
