import Synchronization
import TransferTestSupport

/// An origin whose bytes depend on path and version, and which records every request.
final class ChaosOrigin: Sendable {
    private struct State {
        var version = 1
        var served: [String: Set<String>] = [:]
        var digests: [String: String] = [:]
        var requests: [ChaosHistory.OriginRequest] = []
        /// The gate that opens when the step is over.
        var gate = OriginGate()
    }

    private let origin: LoopbackOrigin
    private let begin = ContinuousClock.now
    private let state = Mutex(State())

    var port: UInt16 { origin.port }

    init() throws { origin = try LoopbackOrigin() }

    deinit { origin.stop() }

    /// The time in seconds since the start.
    var elapsed: Double {
        let time = (ContinuousClock.now - begin).components
        return Double(time.seconds) + Double(time.attoseconds) / 1e18
    }

    var requests: [ChaosHistory.OriginRequest] { state.withLock { $0.requests } }
    var served: [String: Set<String>] { state.withLock { $0.served } }

    /// Answers requests for the path of a task as the task prescribes.
    func serve(_ task: ChaosTask) {
        origin.when(task.path) { [weak self] request in
            self?.answer(request, task) ?? .response(500)
        }
    }

    /// Releases the answers that were held back; later ones wait for the next call.
    func endStep() {
        state.withLock { state in
            state.gate.open()
            state.gate = OriginGate()
        }
    }

    /// Gives all files other bytes.
    func changeFiles() { state.withLock { $0.version += 1 } }

    private func answer(_ request: OriginRequest, _ task: ChaosTask) -> OriginScript {
        let (version, gate) = state.withLock { state in
            state.requests.append(
                ChaosHistory.OriginRequest(
                    path: request.path,
                    method: request.method,
                    arrivedAt: elapsed
                )
            )
            return (state.version, state.gate)
        }
        switch task.origin {
        case .missing: return .response(404)
        case .busy where request.numberAtPath == 1: return .response(503)
        case .late where task.kind != .download:
            return OriginScript([.wait(gate)] + OriginScript.response(200).steps)
        case .whole, .busy, .late: break
        }
        guard task.kind == .download else { return .response(200) }
        let body = Self.body(of: task, version)
        note(body, at: task.path, version)
        return .file(
            body,
            etag: "\"\(version)\"",
            for: request,
            pause: task.origin == .late ? (after: task.bytes / 2, gate: gate) : nil
        )
    }

    private func note(_ body: OriginBody, at path: String, _ version: Int) {
        let key = "\(path) \(version)"
        let known = state.withLock { $0.digests[key] }
        let digest = known ?? body.sha256
        state.withLock { state in
            state.digests[key] = digest
            state.served[path, default: []].insert(digest)
        }
    }

    /// Returns a body made from the FNV-1a hash of the path, and the version.
    private static func body(of task: ChaosTask, _ version: Int) -> OriginBody {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in task.path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01b3 }
        return .random(seed: hash &+ UInt64(version), size: task.bytes)
    }
}
