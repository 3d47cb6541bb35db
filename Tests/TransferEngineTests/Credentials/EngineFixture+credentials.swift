import TransferModel
import TransferStore
import TransferTestSupport

extension EngineFixture {
    /// Stores the credential `oauth`, whose refresh token an endpoint takes.
    func putRefreshToken(
        _ token: String,
        at url: String,
        origins: [Origin] = []
    ) async throws {
        let endpoint = Credential.TokenEndpoint(
            url: url,
            clientID: "me",
            sendsSecretInBody: false,
            scope: nil
        )
        _ = try await stores.credentials.putCredential(
            tenant: tenant,
            name: "oauth",
            form: .oauth2RefreshToken(endpoint),
            origins: origins,
            secrets: Credential.Secrets(main: Secret(token))
        )
    }
}
