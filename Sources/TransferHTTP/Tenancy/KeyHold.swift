/// A request's hold on its key, which is watched for as long as the hold exists.
final class KeyHold: Sendable {
    let caller: Caller
    private let end: KeyEnd
    private let watch: KeyWatch

    init(caller: Caller, end: KeyEnd, watch: KeyWatch) {
        self.caller = caller
        self.end = end
        self.watch = watch
    }

    deinit { watch.release(caller.key) }

    /// Whether the key has expired, or has been found to be revoked.
    var isOver: Bool {
        end.hasHappened || caller.expiresAt.map { $0 <= .now } ?? false
    }

    /// Returns the time that a request may wait: `limit`, or less if the key expires before.
    func wait(upTo limit: Duration) -> Duration {
        guard let expiresAt = caller.expiresAt else { return limit }
        return max(.zero, min(limit, expiresAt - .now))
    }

    /// Checks that the key is still good.
    ///
    /// - Throws: ``Problem/invalidKey`` when it is not.
    func check() throws(Problem) {
        if isOver { throw Problem.invalidKey }
    }
}
