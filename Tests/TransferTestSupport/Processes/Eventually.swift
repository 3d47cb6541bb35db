/// An error that says that a condition did not come true in time.
package struct NeverHappened: Error, CustomStringConvertible {
    /// The condition.
    package let what: String

    package var description: String { "this did not happen in time: \(what)" }
}

/// Returns once `condition` holds; for conditions without a signal, such as the state of another
/// process.
///
/// When there is a signal, wait for that instead.
///
/// - Throws: ``NeverHappened`` after `limit`, or the errors of `condition`.
package func eventually(
    _ what: String,
    within limit: Duration = .seconds(30),
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard .now < deadline else { throw NeverHappened(what: what) }
        try await Task.sleep(for: .milliseconds(10))
    }
}
