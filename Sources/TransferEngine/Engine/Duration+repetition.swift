import PollLoop

extension Duration {
    /// Returns the rest after work that took the duration, so that work takes `share` of the time,
    /// 0 to 1.
    func rest(forShare share: Double) -> Duration { self * (1 / share - 1) }

    /// Runs `body` now and then at jittered intervals of the duration, until cancelled.
    func repeated(_ body: () -> Void) async {
        while !Task.isCancelled {
            body()
            do { try await Task.sleep(for: jittered) } catch { return }
        }
    }
}
