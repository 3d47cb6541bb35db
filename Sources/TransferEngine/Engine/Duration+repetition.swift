extension Duration {
    /// The duration times a random factor of 0.8 to 1.2, so that instances do not move in step.
    var jittered: Duration { self * Double.random(in: 0.8...1.2) }

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
