import Foundation
import TransferModel
import TransferStore
import TransferWire

extension KeyRequest {
    /// Returns the key that this request asks for, made of `key`; what the caller's own key is
    /// limited to is its limit too.
    ///
    /// - Parameters:
    ///   - key: the key with its secret.
    ///   - caller: who asks for it.
    ///   - now: the time by the database's clock, by which a key expires.
    /// - Returns: the key to be stored.
    /// - Throws: ``Problem`` with everything that is wrong, as scopes that the caller has not.
    func newKey(_ key: APIKey, by caller: Caller, now: Date) throws(Problem) -> NewAPIKey {
        var errors: [FieldError] = []
        if !NewAPIKey.isName(name) {
            errors.append(FieldError(pointer: "/name", .invalidValue, NewAPIKey.nameRule))
        }
        let scopes = scopes(of: caller.scopes, into: &errors)
        let expiryDate = expiryDate(upTo: caller.expiryDate, now: now, into: &errors)
        let rate = rate(upTo: caller.keyRequestsPerSecondMax, into: &errors)
        guard errors.isEmpty else { throw Problem(errors) }
        return NewAPIKey(
            id: key.id,
            secretSHA256: key.secretSHA256,
            name: name,
            scopes: scopes,
            expiresAt: expiryDate,
            requestsPerSecondMax: rate
        )
    }

    /// Returns the time from which the key is refused: `bound`, that of the caller's, unless the
    /// request names an earlier one.
    private func expiryDate(
        upTo bound: Date?,
        now: Date,
        into errors: inout [FieldError]
    ) -> Date? {
        guard let expiresAt else { return bound }
        func refuse(_ detail: String) {
            errors.append(FieldError(pointer: "/expires_at", .invalidValue, detail))
        }
        if expiresAt.date <= now { refuse("Must be in the future.") }
        // As text, whose order is theirs: two dates of the same microsecond may differ.
        if let end = bound.map({ Timestamp($0).rfc3339 }), expiresAt.rfc3339 > end {
            refuse("Must not be later than that of the caller's key, \(end).")
        }
        return expiresAt.date
    }

    /// Returns the most requests in a second: `bound`, that of the caller's key, unless the request
    /// names fewer.
    private func rate(upTo bound: Int?, into errors: inout [FieldError]) -> Int? {
        guard let requestsPerSecondMax else { return bound }
        let range = RequestRate.range
        let most = bound.map { min($0, range.upperBound) } ?? range.upperBound
        if requestsPerSecondMax < range.lowerBound || requestsPerSecondMax > most {
            let owner = bound == nil ? "" : ", as of the caller's key"
            errors.append(
                FieldError(
                    pointer: "/requests_per_second_max",
                    .invalidValue,
                    "Must be from \(range.lowerBound) to \(most)\(owner)."
                )
            )
        }
        return requestsPerSecondMax
    }

    private func scopes(
        of granted: Set<KeyScope>,
        into errors: inout [FieldError]
    ) -> Set<KeyScope> {
        guard let names = scopes else {
            let missing = KeyScope.defaults.subtracting(granted)
            if !missing.isEmpty {
                errors.append(
                    FieldError(pointer: "/scopes", .required, "Must be scopes of the caller's key.")
                )
            }
            return KeyScope.defaults
        }
        if names.isEmpty {
            errors.append(FieldError(pointer: "/scopes", .noItems, "Must name a scope."))
        }
        if names.count > KeyScope.allCases.count {
            errors.append(
                FieldError(pointer: "/scopes", .tooManyItems, "Must name each scope once.")
            )
            return []
        }
        var scopes: Set<KeyScope> = []
        let known = granted.names.map { "`\($0)`" }.joined(separator: ", ")
        for (index, name) in names.enumerated() {
            guard let scope = KeyScope(word: name), granted.contains(scope),
                scopes.insert(scope).inserted
            else {
                errors.append(
                    FieldError(
                        pointer: "/scopes/\(index)",
                        .invalidValue,
                        "Must be one of the caller's own, \(known), named once."
                    )
                )
                continue
            }
        }
        return scopes
    }
}
