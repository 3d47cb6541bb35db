extension Duration {
    /// The seconds of a duration of whole milliseconds, as they were given.
    ///
    /// The quotient of two durations is not: 3599 seconds by one second is 3599.0000000000005.
    package var givenSeconds: Double {
        let (seconds, attoseconds) = components
        return (Double(seconds) * 1000 + Double(attoseconds / 1_000_000_000_000_000)) / 1000
    }
}
