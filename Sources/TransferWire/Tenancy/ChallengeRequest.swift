/// The body of `POST …/credential`: the answer to `task.authentication_required`.
package struct ChallengeRequest: Decodable, Sendable {
    /// The client's decision.
    package let disposition: Disposition
    /// The credential, with ``Disposition/use`` only.
    package let credential: Choice?

    /// The answers of `URLSession.AuthChallengeDisposition`.
    package enum Disposition: String, CaseIterable, Decodable, Sendable {
        case use
        /// Continues as if nobody had been asked: the task fails with the answer of the origin.
        case `default`
        case cancel
        /// Acts like ``default``, because the credential is not for this origin.
        case reject
    }

    /// A stored credential, or one for this session and origin alone.
    package enum Choice: Sendable {
        case named(String)
        case given(CredentialRequest)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        disposition = try container.decode(Disposition.self, forKey: .disposition)
        if let name = try? container.decodeIfPresent(String.self, forKey: .credential) {
            credential = .named(name)
        } else {
            credential = try container.decodeIfPresent(
                CredentialRequest.self,
                forKey: .credential
            ).map { .given($0) }
        }
    }

    private enum CodingKeys: CodingKey {
        case disposition, credential
    }
}
