extension Duration {
    /// The duration times a random factor of 0.8 to 1.2, so that instances do not move in step.
    package var jittered: Duration { self * Double.random(in: 0.8...1.2) }
}
