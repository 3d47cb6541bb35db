import Foundation
import TransferModel
import TransferSecrets

/// All that is sealed. A value is bound to its row, so that one which is moved to another does not
/// open there.
extension RowSealer.Place {
    static func url(of task: TaskID, of tenant: TenantID) -> Self {
        Self(.taskURL, of: tenant, in: task.uuid)
    }

    static func headers(of task: TaskID, of tenant: TenantID) -> Self {
        Self(.taskHeaders, of: tenant, in: task.uuid)
    }

    static func body(of task: TaskID, of tenant: TenantID) -> Self {
        Self(.taskBody, of: tenant, in: task.uuid)
    }

    static func uploadResource(of task: TaskID, of tenant: TenantID) -> Self {
        Self(.uploadURL, of: tenant, in: task.uuid)
    }

    /// The headers of a session, which is bound by its name: a `PUT` does not know whether the row
    /// is new.
    static func headers(
        ofSession identifier: String,
        _ client: ClientID,
        _ tenant: TenantID
    ) -> Self {
        Self(
            .sessionHeaders,
            of: tenant,
            in: Array(client.name.utf8) + [0] + Array(identifier.utf8)
        )
    }

    static func secrets(of credential: CredentialUse) -> Self {
        Self(.credential, of: credential.tenant, in: credential.bytes)
    }

    static func accessToken(of credential: CredentialUse) -> Self {
        Self(.accessToken, of: credential.tenant, in: credential.bytes)
    }

    /// The endpoint of a credential, bound by its name: one that replaces another keeps its row.
    static func tokenEndpoint(
        of credential: UUID,
        named name: String?,
        of tenant: TenantID
    ) -> Self {
        name.map { Self(.tokenEndpoint, of: tenant, in: Array($0.utf8)) }
            ?? Self(.tokenEndpoint, of: tenant, in: credential)
    }

    static func signingSecret(of subscription: SubscriptionID, of tenant: TenantID) -> Self {
        Self(.signingSecret, of: tenant, in: subscription.uuid)
    }

    static func url(of subscription: SubscriptionID, of tenant: TenantID) -> Self {
        Self(.subscriptionURL, of: tenant, in: subscription.uuid)
    }

    static func headers(of subscription: SubscriptionID, of tenant: TenantID) -> Self {
        Self(.subscriptionHeaders, of: tenant, in: subscription.uuid)
    }

    static func answer(to key: [UInt8], of tenant: TenantID) -> Self {
        Self(.response, of: tenant, in: key)
    }
}
