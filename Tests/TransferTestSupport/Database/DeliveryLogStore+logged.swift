package import TransferModel
package import TransferStore

extension DeliveryLogStore {
    /// Returns the logged deliveries of a subscription in a given state, the newest first.
    package func logged(
        _ subscription: SubscriptionID,
        _ state: LoggedDelivery.State,
        of tenant: TenantID
    ) async throws -> [LoggedDelivery] {
        try await deliveries(
            tenant: tenant,
            subscription: subscription,
            state: state,
            before: nil,
            limit: 100
        )?.items ?? []
    }
}
