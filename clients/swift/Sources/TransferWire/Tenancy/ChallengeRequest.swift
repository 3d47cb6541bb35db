/// The body of `POST …/credential`: the answer to `task.authentication_required`.
public struct ChallengeRequest: Codable, Sendable {
    /// The client's decision.
    public let disposition: Disposition
    /// The credential, with ``Disposition/use`` only.
    public let credential: Choice?

    /// The answers of `URLSession.AuthChallengeDisposition`.
    public enum Disposition: String, CaseIterable, Codable, Sendable {
        case use
        /// Continues as if nobody had been asked: the task fails with the answer of the origin.
        case `default`
        case cancel
        /// Acts like ``default``, because the credential is not for this origin.
        case reject
    }

    /// A stored credential, or one for this session and origin alone.
    public enum Choice: Sendable {
        case named(String)
        case given(CredentialRequest)
    }

    /// Creates a request; what is nil is absent.
    public init(disposition: Disposition, credential: Choice? = nil) {
        self.disposition = disposition
        self.credential = credential
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        disposition = try container.decodeWord(Disposition.self, forKey: .disposition)
        if let name = try? container.decodeIfPresent(String.self, forKey: .credential) {
            credential = .named(name)
        } else {
            credential = try container.decodeIfPresent(
                CredentialRequest.self,
                forKey: .credential
            ).map { .given($0) }
        }
    }

    /// Writes the members of an object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(disposition, forKey: .disposition)
        switch credential {
        case .named(let name): try container.encode(name, forKey: .credential)
        case .given(let credential): try container.encode(credential, forKey: .credential)
        case nil: break
        }
    }

    private enum CodingKeys: CodingKey {
        case disposition, credential
    }
}
