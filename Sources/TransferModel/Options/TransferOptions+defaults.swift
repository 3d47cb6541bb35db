/// What holds where neither a session nor a task says anything.
extension TransferOptions {
    /// The default of ``redirectsMax``.
    package static let redirectsMaxDefault = 10
    /// The default of ``timeoutForLowSpeed``.
    package static let timeoutForLowSpeedDefault: Duration = .seconds(30)
    /// The default of ``segmentsMax``.
    package static let segmentsMaxDefault = 8

    /// Returns these options of a task with everything that holds for it, as far as that is one
    /// value.
    ///
    /// Absent are options without a default, and two whose default is more than a value: the
    /// attempts in a background session, and whether the client is asked for a credential.
    package func inForce(
        in kind: Session.Kind,
        method: String
    ) -> TransferOptions {
        var defaults = TransferOptions()
        defaults.timeoutForRequest = SessionConfiguration.timeoutForRequestDefault
        defaults.timeoutForResource = SessionConfiguration.timeoutForResourceDefault
        defaults.retryDelayBase = RetryPolicy.delayBaseDefault
        defaults.retryDelayMax = RetryPolicy.delayMaxDefault
        if kind == .ephemeral { defaults.attemptsMax = RetryPolicy.attemptsMaxDefault }
        defaults.deliversHTTPErrors = false
        defaults.waitsForConnectivity = false
        defaults.asksToBegin = false
        defaults.decompresses = false
        defaults.timeoutForLowSpeed = Self.timeoutForLowSpeedDefault
        defaults.keepsCookies = false
        defaults.sendsBodyToOtherOrigins = false
        defaults.resumableUpload = .off
        defaults.redirectsMax = Self.redirectsMaxDefault
        defaults.segmentsMax = Self.segmentsMaxDefault
        defaults.requiresTLS13 = false
        defaults.isIdempotent = TransferRequest.idempotentMethods.contains(method)
        return defaults.overridden(by: withDefaults(of: kind))
    }
}
