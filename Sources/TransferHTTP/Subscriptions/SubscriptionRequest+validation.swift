import Foundation
import StandardWebhooks
import TransferModel
import TransferWebhooks
import TransferWire

extension SubscriptionRequest {
    /// Returns the subscription that this request asks for.
    func subscription(
        id: SubscriptionID,
        tenant: TenantID,
        createdAt: Date,
        egress: EgressPolicy
    ) throws(Problem) -> Subscription {
        var errors: [FieldError] = []
        SubscriptionRules.checkURL(url, egress: egress, into: &errors)
        if let sessionIdentifier, !SessionIdentifier.isValid(sessionIdentifier) {
            errors.append(
                FieldError(
                    pointer: "/session_identifier",
                    .invalidIdentifier,
                    SessionIdentifier.rule
                )
            )
        }
        let owner = client.map { ClientID($0) }
        if case .some(.none) = owner {
            errors.append(FieldError(pointer: "/client", .invalidIdentifier, ClientRule.name))
        }
        SubscriptionRules.checkDescription(description, into: &errors)
        SubscriptionRules.checkBounds(
            concurrency,
            rateLimit,
            ackTimeoutSeconds,
            into: &errors
        )
        let settings = SubscriptionSettings(
            url: url,
            filter: eventTypes.flatMap { SubscriptionRules.filter($0, into: &errors) },
            description: description,
            headers: SubscriptionRules.headers(headers ?? [:], into: &errors),
            concurrency: concurrency,
            rateLimit: rateLimit,
            ackTimeout: ackTimeoutSeconds.map { .seconds($0) }
                ?? SubscriptionSettings.ackTimeoutDefault,
            form: deliveryForm.flatMap { SubscriptionRules.form($0, into: &errors) } ?? .single,
            throttlesWakeUps: wakeUpThrottling ?? false
        )
        guard errors.isEmpty else { throw Problem(errors) }
        return Subscription(
            id: id,
            tenant: tenant,
            client: owner ?? nil,
            sessionIdentifier: sessionIdentifier,
            settings: settings,
            disablement: enabled == false
                ? Subscription.Disablement(reason: .client, since: createdAt) : nil,
            createdAt: createdAt
        )
    }
}

extension SubscriptionPatchRequest {
    /// Returns the change of `current` that this request asks for.
    func change(
        of current: SubscriptionSettings,
        egress: EgressPolicy
    ) throws(Problem) -> SubscriptionChange {
        var errors: [FieldError] = []
        var change = SubscriptionChange()
        if let url { SubscriptionRules.checkURL(url, egress: egress, into: &errors) }
        change.url = url
        if let eventTypes {
            change.filter = .some(
                eventTypes.flatMap { SubscriptionRules.filter($0, into: &errors) }
            )
        }
        SubscriptionRules.checkDescription(description ?? nil, into: &errors)
        change.description = description
        change.headers = changedHeaders(of: current, into: &errors)
        SubscriptionRules.checkBounds(
            concurrency ?? nil,
            rateLimit ?? nil,
            ackTimeoutSeconds ?? nil,
            into: &errors
        )
        change.concurrency = concurrency
        change.rateLimit = rateLimit
        change.ackTimeout = ackTimeoutSeconds.map { seconds in
            seconds.map { Duration.seconds($0) } ?? SubscriptionSettings.ackTimeoutDefault
        }
        switch deliveryForm {
        case .none: break
        case .some(.none): change.form = .single
        case .some(.some(let word)): change.form = SubscriptionRules.form(word, into: &errors)
        }
        change.throttlesWakeUps = wakeUpThrottling.map { $0 ?? false }
        change.isEnabled = enabled.map { $0 ?? true }
        guard errors.isEmpty else { throw Problem(errors) }
        return change
    }

    /// Returns all headers after the change, in which a name is one however its letters are
    /// written (RFC 9110 §5.1); nil if they stay.
    ///
    /// Nobody can read them back, so none goes to another origin unless the caller gives it.
    private func changedHeaders(
        of current: SubscriptionSettings,
        into errors: inout [FieldError]
    ) -> [HTTPHeader]? {
        if case .some(.none) = headers { return [] }
        let patch = (headers ?? nil) ?? [:]
        let named = Set(patch.keys.map { $0.lowercased() })
        let kept = current.headers.filter { !named.contains($0.name.lowercased()) }
        if let url, !kept.isEmpty, !SubscriptionRules.isOneOrigin(url, current.url) {
            errors.append(
                FieldError(
                    pointer: "/headers",
                    .required,
                    """
                    Is required with a URL at another origin: name each of `header_names`, with a \
                    value or null, or give null for all.
                    """
                )
            )
        }
        guard headers != nil else { return nil }
        let fields = kept.map { ($0.name, $0.value) }
        return SubscriptionRules.headers(
            patch.compactMapValues { $0 }.merging(fields) { given, _ in given },
            into: &errors
        )
    }
}

extension RotateSecretRequest {
    /// Returns the time for which the earlier secrets still sign.
    func overlap() throws(Problem) -> Duration {
        guard let overlapSeconds else { return SigningSecret.overlapDefault }
        let most = SigningSecret.overlapMax.components.seconds
        guard (0...most).contains(overlapSeconds) else {
            throw Problem([
                FieldError(
                    pointer: "/overlap_seconds",
                    .invalidValue,
                    "Must be from 0 to \(most)."
                )
            ])
        }
        return .seconds(overlapSeconds)
    }
}

/// Rules for creating and changing a subscription; what is wrong is added to `errors`.
private enum SubscriptionRules {
    static func checkURL(
        _ text: String,
        egress: EgressPolicy,
        into errors: inout [FieldError]
    ) {
        guard let url = WebURL(text, allowsFragment: false) else {
            let fault = URLRule.fault(of: text, allowsFragment: false)
            errors.append(FieldError(pointer: "/url", .invalidURL, fault))
            return
        }
        guard url.isRefused(by: egress) else { return }
        errors.append(
            FieldError(
                pointer: "/url",
                .forbiddenAddress,
                "Names an address that this service does not connect to."
            )
        )
    }

    /// Returns whether two URLs have the same scheme, host and port (RFC 6454 §5).
    static func isOneOrigin(_ one: String, _ other: String) -> Bool {
        guard let one = WebURL(one), let other = WebURL(other) else { return false }
        return one.origin == other.origin
    }

    static func filter(_ types: [String], into errors: inout [FieldError]) -> EventFilter? {
        if types.isEmpty {
            errors.append(
                FieldError(
                    pointer: "/event_types",
                    .noItems,
                    "Needs a type; leave the field out for events of every type."
                )
            )
        }
        for (index, type) in types.enumerated() {
            let isRepeated = types[..<index].contains { $0.utf8.elementsEqual(type.utf8) }
            if EventFilter([type]) != nil, !isRepeated { continue }
            guard errors.count < ProblemDetails.errorsMax else { break }
            errors.append(
                FieldError(
                    pointer: "/event_types/\(index)",
                    .invalidValue,
                    "Must be the type of an event, or a family such as `task.*`, once."
                )
            )
        }
        return EventFilter(types)
    }

    static func form(_ word: String, into errors: inout [FieldError]) -> DeliveryForm? {
        if let form = DeliveryForm(word: word) { return form }
        errors.append(
            FieldError(pointer: "/delivery_form", .invalidValue, "Must be `single` or `batch`.")
        )
        return nil
    }

    static func checkDescription(_ text: String?, into errors: inout [FieldError]) {
        guard let text else { return }
        let most = SubscriptionSettings.descriptionBytesMax
        guard text.utf8.count > most || text.utf8.contains(0) else { return }
        errors.append(
            FieldError(
                pointer: "/description",
                .invalidValue,
                "May have at most \(most) bytes of UTF-8 and no NUL."
            )
        )
    }

    static func headers(
        _ fields: [String: String],
        into errors: inout [FieldError]
    ) -> [HTTPHeader] {
        HeaderRules.validate(
            fields,
            countMax: SubscriptionSettings.headersMax,
            isReserved: WebhookSender.isReserved,
            at: "/headers",
            into: &errors
        )
    }

    static func checkBounds(
        _ concurrency: Int?,
        _ rateLimit: Int?,
        _ ackTimeout: Int?,
        into errors: inout [FieldError]
    ) {
        check(concurrency, in: SubscriptionSettings.concurrencyRange, "/concurrency", &errors)
        check(rateLimit, in: SubscriptionSettings.rateLimitRange, "/rate_limit", &errors)
        check(ackTimeout, in: SubscriptionSettings.ackTimeoutRange, "/ack_timeout_seconds", &errors)
    }

    private static func check(
        _ value: Int?,
        in range: ClosedRange<Int>,
        _ pointer: String,
        _ errors: inout [FieldError]
    ) {
        guard let value, !range.contains(value) else { return }
        errors.append(
            FieldError(
                pointer: pointer,
                .invalidValue,
                "Must be from \(range.lowerBound) to \(range.upperBound)."
            )
        )
    }
}
