extension RetryPolicy {
    /// Returns this policy, overridden by what `options` set.
    package func overridden(by options: TransferOptions) -> RetryPolicy {
        var policy = self
        policy.delayBase = options.retryDelayBase ?? delayBase
        policy.delayMax = max(policy.delayBase, options.retryDelayMax ?? delayMax)
        if let attemptsMax = options.attemptsMax {
            policy.attemptsMax = attemptsMax
            policy.attemptsInBackgroundMax = attemptsMax
        }
        return policy
    }
}
