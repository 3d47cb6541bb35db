extension TransferSession {
    /// The lease that a submission names.
    struct SubmissionLease {
        let token: String
        let headers: [(name: String, value: String)]
    }

    /// Returns the lease for tasks to be submitted; nil when this process has no name.
    func leaseForSubmission(of count: Int) -> SubmissionLease? {
        guard let owner = configuration.owner else { return nil }
        let token = leases.token(for: count)
        return SubmissionLease(
            token: token,
            headers: [
                ("Lease-Token", token), ("Lease-Owner", owner),
                ("Lease-Seconds", "\(configuration.leaseDuration.components.seconds)"),
            ]
        )
    }

    /// Renews a lease until the session is closed; the delegate is told if it is lost while tasks are
    /// followed.
    func keep(_ lease: String) {
        leases.keep(lease, for: configuration.leaseDuration, at: service) { error in
            guard !self.registry.all.isEmpty else { return }
            await self.delegate?.urlSession(self, task: nil, didFailWithoutEnding: error)
        }
    }
}
