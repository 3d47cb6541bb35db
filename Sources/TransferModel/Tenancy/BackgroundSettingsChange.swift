/// A change of some of a tenant's settings for background work; nil leaves a setting as it is.
package struct BackgroundSettingsChange: Sendable {
    package var permittedIdentifiers: PermittedIdentifiers?
    package var areTasksOn: Bool?
    package var capacity: BackgroundSettings.Capacity?
    package var assertionBudget: Duration?
    package var appRefreshTime: Duration?
    package var processingTime: Duration?

    package init() {}
}
