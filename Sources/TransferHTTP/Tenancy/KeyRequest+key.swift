import Foundation
import TransferModel
import TransferStore
import TransferWire

extension KeyRequest {
    /// Returns the key that this request asks for, made of `key`, for a caller with `granted`.
    ///
    /// - Throws: ``Problem`` with everything that is wrong, as scopes that the caller has not.
    func newKey(_ key: APIKey, by granted: Set<KeyScope>) throws(Problem) -> NewAPIKey {
        var errors: [FieldError] = []
        if !NewAPIKey.isName(name) {
            errors.append(FieldError(pointer: "/name", .invalidValue, NewAPIKey.nameRule))
        }
        let scopes = scopes(of: granted, into: &errors)
        if let expiresAt, expiresAt.date <= Date.now {
            errors.append(
                FieldError(pointer: "/expires_at", .invalidValue, "Must be in the future.")
            )
        }
        if let requestsPerSecondMax, !RequestRate.range.contains(requestsPerSecondMax) {
            let range = RequestRate.range
            errors.append(
                FieldError(
                    pointer: "/requests_per_second_max",
                    .invalidValue,
                    "Must be from \(range.lowerBound) to \(range.upperBound)."
                )
            )
        }
        guard errors.isEmpty else { throw Problem(errors) }
        return NewAPIKey(
            id: key.id,
            secretSHA256: key.secretSHA256,
            name: name,
            scopes: scopes,
            expiresAt: expiresAt?.date,
            requestsPerSecondMax: requestsPerSecondMax
        )
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
        for (index, name) in names.enumerated() {
            guard let scope = KeyScope(rawValue: name), granted.contains(scope),
                scopes.insert(scope).inserted
            else {
                errors.append(
                    FieldError(
                        pointer: "/scopes/\(index)",
                        .invalidValue,
                        "Must be a scope of the caller's key, named once."
                    )
                )
                continue
            }
        }
        return scopes
    }
}
