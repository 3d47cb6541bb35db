import Logging
import Synchronization

/// A watch over the keys of requests that last, with one look at the database for all of them.
///
/// A key may be revoked at any instance. While requests hold keys, those keys are looked up
/// together every second, so that each instance ends its requests within a few seconds.
package final class KeyWatch: Sendable {
    /// The pause between two looks.
    static let pauseDefault: Duration = .seconds(1)
    /// The maximum number of keys in one statement.
    static let pageMax = 1000

    /// A function that returns those of the keys that are still good.
    typealias Look = @Sendable ([String]) async throws -> Set<String>

    private struct Entry {
        let end: KeyEnd
        var holds = 0
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var isLooking = false
        /// Whether the last look failed.
        var isFailing = false
    }

    private let state = Mutex(State())
    private let look: Look
    private let pause: Duration
    private let logger: Logger

    /// Creates a watch; `logger` is told when looks begin to fail, and when they work again.
    init(
        logger: Logger,
        pause: Duration = KeyWatch.pauseDefault,
        look: @escaping Look
    ) {
        self.logger = logger
        self.pause = pause
        self.look = look
    }

    /// Returns a hold on the caller's key, which is watched until the hold is released.
    ///
    /// The number of requests that last is bounded by ``ReaderSlots`` and by the connections.
    func hold(_ caller: Caller) -> KeyHold {
        let (end, begins) = state.withLock { state -> (KeyEnd, Bool) in
            var entry = state.entries[caller.key] ?? Entry(end: KeyEnd())
            entry.holds += 1
            state.entries[caller.key] = entry
            defer { state.isLooking = true }
            return (entry.end, !state.isLooking)
        }
        // The looks serve all holds, so they belong to none of them and end with the last.
        if begins { Task { await lookOn() } }
        return KeyHold(caller: caller, end: end, watch: self)
    }

    /// Ends the holds on a key that this instance has revoked.
    func end(_ key: String) {
        state.withLock { $0.entries[key]?.end }?.happen()
    }

    func release(_ key: String) {
        state.withLock { state in
            guard var entry = state.entries[key] else { return }
            entry.holds -= 1
            state.entries[key] = entry.holds > 0 ? entry : nil
        }
    }

    private func lookOn() async {
        while true {
            let keys = state.withLock { state -> [String] in
                if state.entries.isEmpty { state.isLooking = false }
                return Array(state.entries.keys)
            }
            if keys.isEmpty { return }
            await lookOnce(at: keys)
            try? await Task.sleep(for: pause)
        }
    }

    private func lookOnce(at keys: [String]) async {
        do {
            for start in stride(from: 0, to: keys.count, by: Self.pageMax) {
                let page = Array(keys[start..<min(start + Self.pageMax, keys.count)])
                let good = try await look(page)
                for key in page where !good.contains(key) { end(key) }
            }
            let isBack = state.withLock { state in
                defer { state.isFailing = false }
                return state.isFailing
            }
            if isBack { logger.notice("revoked keys are seen again") }
        } catch {
            // Requests go on: without the database they learn of nothing new either.
            let isFirst = state.withLock { state in
                defer { state.isFailing = true }
                return !state.isFailing
            }
            if isFirst {
                logger.warning("revoked keys are not seen", metadata: ["error": "\(error)"])
            }
        }
    }
}
