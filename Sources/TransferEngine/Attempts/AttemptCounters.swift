package import TransferMetrics
package import TransferModel

/// What has become of the attempts of this instance, for those who watch it.
package final class AttemptCounters: Sendable {
    /// An outcome with the code of the failure, if there was one.
    package struct Label: Hashable, Sendable {
        /// A word for the outcome.
        package let outcome: String
        package let code: TransferFailure.Code?
    }

    /// The direction of bytes.
    package enum Direction: String, Sendable {
        case received, sent
    }

    /// The attempts that have ended.
    package let ends = Counters<Label>()
    /// The bytes that they have moved.
    package let bytes = Counters<Direction>()
    /// The time that each took.
    package let durations = DurationHistogram()

    /// Counts an attempt whose end was stored.
    func count(_ attemptEnd: AttemptEnd) {
        ends.add(to: Label(attemptEnd.outcome))
        guard let metrics = attemptEnd.metrics else { return }
        bytes.add(metrics.responseBodyBytes, to: .received)
        bytes.add(metrics.requestBodyBytes, to: .sent)
        durations.observe(metrics.total)
    }
}

extension AttemptCounters.Label {
    init(_ outcome: AttemptOutcome) {
        switch outcome {
        case .completed, .fetched, .answered: self.init(outcome: "completed", code: nil)
        case .failed(let failure): self.init(outcome: "failed", code: failure.code)
        case .retry(let failure, _): self.init(outcome: "retry", code: failure.code)
        case .waitForConnectivity(let failure, _):
            self.init(outcome: "connectivity_lost", code: failure.code)
        case .waitOut(let failure, _): self.init(outcome: "shortage", code: failure.code)
        case .askForCredential(let failure, _, _, _):
            self.init(outcome: "credential_asked_for", code: failure.code)
        case .moved(let failure, _): self.init(outcome: "moved", code: failure.code)
        case .released: self.init(outcome: "released", code: nil)
        case .requeued: self.init(outcome: "requeued", code: nil)
        }
    }
}
