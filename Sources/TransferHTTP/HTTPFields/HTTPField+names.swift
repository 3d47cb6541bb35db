import HTTPTypes

extension HTTPField.Name {
    static let requestID = constant("X-Request-Id")
    static let idempotencyKey = constant("Idempotency-Key")
    static let idempotencyReplayed = constant("Idempotency-Replayed")
    static let leaseToken = constant("Lease-Token")
    static let leaseSeconds = constant("Lease-Seconds")
    static let leaseOwner = constant("Lease-Owner")
    static let prefer = constant("Prefer")
    static let preferenceApplied = constant("Preference-Applied")
    static let lastEventID = constant("Last-Event-ID")
    static let accelBuffering = constant("X-Accel-Buffering")
    static let uploadOffset = constant("Upload-Offset")
    static let referrerPolicy = constant("Referrer-Policy")
    static let crossOriginOpenerPolicy = constant("Cross-Origin-Opener-Policy")
    static let crossOriginResourcePolicy = constant("Cross-Origin-Resource-Policy")
    static let rateLimit = constant("RateLimit")
    static let rateLimitPolicy = constant("RateLimit-Policy")
    static let reprDigest = constant("Repr-Digest")

    private static func constant(_ name: StaticString) -> HTTPField.Name {
        guard let name = HTTPField.Name("\(name)") else {
            preconditionFailure("A field name in this file is not a token.")
        }
        return name
    }
}
