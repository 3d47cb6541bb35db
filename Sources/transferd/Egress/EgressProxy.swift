import Curl
import Foundation

/// The proxy through which all requests of this instance leave, as far as the settings tell.
struct EgressProxy: Sendable {
    /// Beyond it, nobody wrote a name and a password.
    private static let credentialBytesMax = 4096

    private let url: String
    /// The file with the credential; nil if the proxy wants none.
    private let credentialFile: String?

    /// Reads the settings; nil without a proxy.
    init?(_ options: ServiceOptions, _ reader: inout SettingsReader) {
        let url = reader.text(options.egressProxy, "TRANSFERD_EGRESS_PROXY")
        credentialFile = reader.text(
            options.egressProxyCredentialFile,
            "TRANSFERD_EGRESS_PROXY_CREDENTIAL_FILE"
        )
        guard let url else {
            let direct = reader.list(
                options.egressDirectHost,
                "TRANSFERD_EGRESS_DIRECT_HOSTS"
            )
            if credentialFile != nil || !direct.isEmpty {
                reader.refuse(
                    "TRANSFERD_EGRESS_PROXY: a credential and direct hosts take a proxy"
                )
            }
            return nil
        }
        self.url = url
        do throws(CurlError) {
            _ = try CurlProxy(url: url)
        } catch {
            // Without its text, in which there may be a password.
            reader.refuse(
                """
                TRANSFERD_EGRESS_PROXY: is not a URL such as http://proxy.example:3128, without a \
                path; a user and a password go into TRANSFERD_EGRESS_PROXY_CREDENTIAL_FILE
                """
            )
        }
    }

    /// Returns the proxy with its credential, which is read now.
    ///
    /// - Throws: ``SecretFileError`` also if others can read the file.
    func load() throws -> CurlProxy {
        guard let credentialFile else { return try CurlProxy(url: url) }
        let file = SecretFile(path: credentialFile)
        try file.checkAccess()
        let text = try String(contentsOfFile: credentialFile, encoding: .utf8)
        guard text.utf8.count <= Self.credentialBytesMax,
            let credential = CurlProxy.Credential(text.trimmingCharacters(in: .newlines))
        else {
            throw SecretFileError(path: credentialFile, reason: "must have one line user:password")
        }
        return try CurlProxy(url: url, credential: credential)
    }
}
