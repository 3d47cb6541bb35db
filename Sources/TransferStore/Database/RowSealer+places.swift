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

    static func secrets(of credential: UUID, named name: String?, of tenant: TenantID) -> Self {
        value(.credential, of: credential, named: name, of: tenant)
    }

    static func accessToken(
        of credential: UUID,
        named name: String?,
        of tenant: TenantID
    ) -> Self {
        value(.accessToken, of: credential, named: name, of: tenant)
    }

    static func tokenEndpoint(
        of credential: UUID,
        named name: String?,
        of tenant: TenantID
    ) -> Self {
        value(.tokenEndpoint, of: credential, named: name, of: tenant)
    }

    /// A value of a credential, bound by its name: one that replaces another keeps its row.
    private static func value(
        _ purpose: SecretBox.Purpose,
        of credential: UUID,
        named name: String?,
        of tenant: TenantID
    ) -> Self {
        name.map { Self(purpose, of: tenant, in: Array($0.utf8)) }
            ?? Self(purpose, of: tenant, in: credential)
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
