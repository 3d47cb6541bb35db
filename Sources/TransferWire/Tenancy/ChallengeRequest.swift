/// The body of `POST …/credential`: the answer to `task.authentication_required`.
package struct ChallengeRequest: Decodable, Sendable {
    package let disposition: Disposition
    /// With ``Disposition/use`` only.
    package let credential: Choice?

    /// `URLSession.AuthChallengeDisposition`.
    package enum Disposition: String, CaseIterable, Decodable, Sendable {
        case use
        /// Go on as if nobody had been asked: the task fails with what the origin answered.
        case `default`
        case cancel
        /// As ``default``: the credential is not for this origin.
        case reject
    }

    /// One that is stored, or one for this session and origin alone.
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
