import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/tenant/background-settings`.
struct BackgroundSettingsRoutes: Sendable {
    let stores: APIStores
    let tell: @Sendable (Set<Signal>) -> Void

    func add(to router: APIRouter) {
        router.get("/v1/tenant/background-settings", scope: .read) { _, context in
            let settings = try await stores.tenants.backgroundSettings(
                of: context.requireTenant()
            )
            return try Answer.json(
                BackgroundSettingsDocument(settings),
                revision: settings.revision
            )
        }
        router.patch("/v1/tenant/background-settings", scope: .control) { request, context in
            let body = try await request.jsonBody()
            let change = try await decoded(BackgroundSettingsPatchRequest.self, from: body).change()
            let settings = try await stores.tenants.changeBackgroundSettings(
                of: context.requireTenant(),
                change,
                if: RevisionCondition(request.headers)
            )
            guard let settings else { throw Problem(.preconditionFailed) }
            tell(.ofClients)
            return try Answer.json(
                BackgroundSettingsDocument(settings),
                revision: settings.revision
            )
        }
    }
}

extension BackgroundSettingsPatchRequest {
    /// Returns the change that this body asks for.
    fileprivate func change() throws(Problem) -> BackgroundSettingsChange {
        var check = RangeCheck(pointer: "")
        var change = BackgroundSettingsChange()
        change.areTasksOn = enabled
        if let capacity {
            change.capacity = BackgroundSettings.Capacity(word: capacity)
            if change.capacity == nil { check.refuse("capacity", "Must be `idle` or `busy`.") }
        }
        change.assertionBudget = check.seconds(
            assertionBudgetSeconds,
            BackgroundSettings.assertionBudgetRange,
            "assertion_budget_seconds"
        )
        change.appRefreshTime = check.seconds(
            appRefreshSeconds,
            BackgroundSettings.appRefreshTimeRange,
            "app_refresh_seconds"
        )
        change.processingTime = check.seconds(
            processingSeconds,
            BackgroundSettings.processingTimeRange,
            "processing_seconds"
        )
        if let terms = permittedIdentifiers {
            if terms.count > PermittedIdentifiers.termsMax {
                check.refuse(
                    "permitted_identifiers",
                    "Must have at most \(PermittedIdentifiers.termsMax) items."
                )
            }
            for (index, term) in terms.prefix(PermittedIdentifiers.termsMax).enumerated()
            where !PermittedIdentifiers.isTerm(term) {
                check.refuse("permitted_identifiers/\(index)", PermittedIdentifiers.rule)
            }
            change.permittedIdentifiers = PermittedIdentifiers(stored: terms)
        }
        guard check.errors.isEmpty else { throw Problem(check.errors) }
        return change
    }
}

extension BackgroundSettingsDocument {
    fileprivate init(_ settings: BackgroundSettings) {
        self.init(
            permittedIdentifiers: settings.permittedIdentifiers.terms,
            enabled: settings.areTasksOn,
            capacity: settings.capacity.rawValue,
            assertionBudgetSeconds: settings.assertionBudget.givenSeconds,
            appRefreshSeconds: settings.appRefreshTime.givenSeconds,
            processingSeconds: settings.processingTime.givenSeconds
        )
    }
}
