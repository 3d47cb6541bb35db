import TransferModel

extension ActiveAttempts {
    /// Returns the attempts that one of `pauses` gives back: those that wait for a connection, and
    /// those that run and may be repeated if the pause gives back.
    ///
    /// A request that must not be sent twice runs on, because nobody could tell its outcome.
    func paused(by pauses: [Pause]) -> [any TransferAttempt] {
        let unconnected = unconnected
        return all.filter { attempt in
            let claim = attempt.claim
            let hosts = [claim.hostKey, claim.request.sourceHostKey].compactMap { $0 }
            return pauses.contains { pause in
                hosts.contains { pause.scope.contains(claim.tenant, $0) }
                    && (unconnected.contains(claim.fence)
                        || pause.givesBack && attempt.mayBeRepeated)
            }
        }
    }
}
