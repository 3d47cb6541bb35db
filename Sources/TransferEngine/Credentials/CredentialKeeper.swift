import Curl
import Foundation
import Logging
import TransferModel
import TransferStore

/// The actor that finds what claims show of their credentials, and keeps access tokens fresh.
actor CredentialKeeper {
    /// The outcome of looking up a claim's credential.
    enum Finding: Sendable {
        /// The attempt starts, with the credential in its headers if there is one for it.
        case begin(TaskClaim)
        /// The credential is missing or of no use.
        case ask(TransferFailure)
        /// A credential may be available later.
        case retry(TransferFailure)
        /// This service is at fault, so that the attempt does not count.
        case waitOut(TransferFailure)
        /// The task goes back to the queue as if it had not been claimed.
        case release
    }

    /// The remaining lifetime below which an access token is renewed before it is shown.
    ///
    /// It also covers the time that the database's answer takes, by which the end is read too late.
    private static let expiryMargin: Duration = .seconds(60)
    /// The interval at which it checks whether another instance has refreshed the token.
    private static let pollInterval: Duration = .milliseconds(250)
    private static let pollsMax = 100
    /// The number of unreadable credentials that are remembered as reported.
    private static let reportedMax = 1000

    private enum Token: Sendable {
        case fresh(Secret, version: Int64, isNew: Bool)
        case refused(String)
        case unavailable(TransferFailure)
        /// This service could not obtain it.
        case delayed(String)
        /// This worker could not ask or may not, and nothing is known.
        case unasked
        /// The credential was replaced or removed meanwhile: what was found out is of the old one.
        case outdated
    }

    /// A credential as it was when its refresh began.
    private struct Refreshed: Hashable {
        let id: CredentialID
        /// Another one after the credential was replaced.
        let version: Int64
    }

    private let store: CredentialStore
    private let curl: CurlLoop
    private let identity: WorkerIdentity
    private let egress: EgressGuard
    private let logger: Logger
    private var refreshes: [Refreshed: Task<Token, Never>] = [:]
    /// The unreadable credentials that the log has been told of.
    private var reported: Set<CredentialID> = []

    init(
        store: CredentialStore,
        curl: CurlLoop,
        identity: WorkerIdentity,
        egress: EgressGuard,
        logger: Logger
    ) {
        self.store = store
        self.curl = curl
        self.identity = identity
        self.egress = egress
        self.logger = logger
    }

    /// Returns the outcome for a claim for which `found` was found.
    nonisolated func finding(
        for query: CredentialQuery,
        _ found: FoundCredential?
    ) async -> Finding {
        let stored: StoredCredential
        switch found {
        case .readable(let readable) where readable.credential.isFor(query.origin):
            stored = readable
        case .unreadable(let id, let why):
            return await finding(ofUnreadable: id, of: query.claim.tenant, because: why)
        case .readable, nil:
            guard let name = query.claim.options.credential else { return .begin(query.claim) }
            return .ask(
                .unusable(
                    found == nil
                        ? "There is no credential of the name \(name)."
                        : "The credential \(name) is not for \(query.origin)."
                )
            )
        }
        let token = await token(of: stored)
        switch token {
        case .fresh(let secret, let version, let isNew):
            var claim = query.claim
            let field = stored.credential.form.field(showing: secret)
            if let field {
                claim.headers.removeAll { $0.name.lowercased() == field.name.lowercased() }
                claim.headers.append(field)
            }
            if case .clientCertificate(let pem) = stored.credential.form {
                claim.clientCertificate = ClientCertificate(
                    certificate: Array(pem.utf8),
                    key: Array(secret.exposed.utf8)
                )
            }
            claim.shown = ShownCredential(
                id: stored.credential.id,
                version: version,
                isRenewable: stored.credential.form.kind == .oauth2RefreshToken && !isNew,
                field: field?.name.lowercased()
            )
            return .begin(claim)
        case .refused(let why): return .ask(.unusable(why))
        case .unavailable(let failure): return .retry(failure)
        case .delayed(let why): return .waitOut(TransferFailure(.couldNotConnect, why))
        // The task is claimed again, and then what is there now is found.
        case .unasked, .outdated: return .release
        }
    }

    /// Returns the finding of a credential that this service cannot read, and reports it once.
    ///
    /// The operator may bring the missing key, and the tenant may replace the credential.
    private func finding(
        ofUnreadable id: CredentialID,
        of tenant: TenantID,
        because why: String
    ) -> Finding {
        if reported.insert(id).inserted {
            if reported.count > Self.reportedMax { reported = [id] }
            logger.error(
                "credential cannot be read",
                metadata: ["credential": "\(id.uuid)", "error": "\(why)", "tenant": "\(tenant)"]
            )
        }
        return .waitOut(.unusable("This service cannot read the credential: \(why)."))
    }

    /// Returns the secret to show.
    private nonisolated func token(of stored: StoredCredential) async -> Token {
        guard stored.credential.form.kind == .oauth2RefreshToken else {
            return .fresh(stored.secrets.main, version: stored.version, isNew: false)
        }
        if let token = stored.accessToken, stored.isFresh(Self.expiryMargin) {
            return .fresh(token, version: stored.version, isNew: false)
        }
        return await refreshed(stored)
    }

    /// Whether no credential is being refreshed.
    var isIdle: Bool { refreshes.isEmpty }

    /// Refreshes a credential once at a time; all claims that need it wait for the same refresh.
    ///
    /// A claim that has found a replaced credential waits for none of the former: that may be
    /// another account, for other origins.
    private func refreshed(_ stored: StoredCredential) async -> Token {
        let key = Refreshed(id: stored.credential.id, version: stored.version)
        if let running = refreshes[key] { return await running.value }
        let task = Task { await refresh(stored) }
        refreshes[key] = task
        let token = await task.value
        refreshes[key] = nil
        return token
    }

    private nonisolated func refresh(_ stored: StoredCredential) async -> Token {
        var stored = stored
        do {
            for _ in 0..<Self.pollsMax {
                if stored.isFresh(Self.expiryMargin) { return await token(of: stored) }
                if let turn = try await store.beginRefresh(stored) { return await ask(turn) }
                try await Task.sleep(for: Self.pollInterval)
                guard let now = try await store.storedCredential(stored.credential.id),
                    now.isRefreshed(stored)
                else { return .outdated }
                stored = now
            }
        } catch {
            logger.debug("credential not looked up", metadata: ["error": "\(error)"])
            return .unasked
        }
        return .delayed("Another instance has been refreshing the credential for too long.")
    }

    private nonisolated func ask(_ turn: RefreshTurn) async -> Token {
        let stored = turn.stored
        let tenant = stored.credential.tenant
        do {
            guard case .oauth2RefreshToken(let endpoint) = stored.credential.form else {
                return .outdated
            }
            guard let answer = await answer(of: endpoint, stored.secrets, for: tenant) else {
                await leave(turn)
                return .unasked
            }
            return try await keep(answer, in: turn)
        } catch {
            // If the endpoint has already answered, a refresh token for a single use is lost.
            logger.error(
                "credential not refreshed",
                metadata: ["error": "\(error)", "tenant": "\(tenant)"]
            )
            return .delayed("This service could not refresh the credential.")
        }
    }

    /// Lets others ask at once; if the database does not answer, they may after a while.
    private nonisolated func leave(_ turn: RefreshTurn) async {
        do {
            try await store.failRefresh(turn, because: nil)
        } catch {
            logger.debug("credential not left to others", metadata: ["error": "\(error)"])
        }
    }

    /// Stores what the endpoint has answered.
    private nonisolated func keep(
        _ answer: TokenEndpointAnswer,
        in turn: RefreshTurn
    ) async throws -> Token {
        let stored = turn.stored
        switch answer {
        case .granted(let accessToken, let expiresIn, let refreshToken):
            let isKept = try await store.finishRefresh(
                stored,
                accessToken: accessToken,
                expiresIn: expiresIn,
                secrets: refreshToken.map {
                    Credential.Secrets(main: $0, client: stored.secrets.client)
                }
            )
            guard isKept else { return .outdated }
            return .fresh(accessToken, version: stored.version + 1, isNew: true)
        case .refused(let why):
            let failure = "The token endpoint refused it: \(why)."
            let isKept = try await store.failRefresh(turn, because: failure)
            return isKept ? .refused(failure) : .outdated
        case .unavailable(let why):
            let failure = TransferFailure(
                .couldNotConnect,
                "The token endpoint gave no token: \(why)."
            )
            let isKept = try await store.failRefresh(turn, because: failure.message)
            return isKept ? .unavailable(failure) : .outdated
        case .unreached(let failure):
            let isKept = try await store.failRefresh(turn, because: failure.message)
            return isKept ? .unavailable(failure) : .outdated
        }
    }

    /// Returns the endpoint's answer; nil when it was not asked, or no answer is waited for any
    /// more.
    private nonisolated func answer(
        of endpoint: Credential.TokenEndpoint,
        _ secrets: Credential.Secrets,
        for tenant: TenantID
    ) async -> TokenEndpointAnswer? {
        do throws(CurlError) {
            var request = CurlRequest(refreshing: secrets, at: endpoint, egress: egress)
            request.group = tenant.uuid
            // A refresh token may be for a single use, and another worker may be using it by then.
            request.mayBegin = { [identity] in identity.isTrusted(at: .now) }
            let response = try await curl.fetch(
                request,
                bodyMax: TokenEndpointAnswer.bodyBytesMax
            )
            return TokenEndpointAnswer(status: response.head.status, body: response.body)
        } catch {
            return error.code == .cancelled ? nil : TokenEndpointAnswer(error)
        }
    }
}

extension StoredCredential {
    /// Whether its access token lasts longer than `margin`.
    fileprivate func isFresh(_ margin: Duration) -> Bool {
        guard accessToken != nil else { return false }
        return accessEnds.map { ContinuousClock.now.duration(to: $0) > margin } ?? true
    }

    /// Whether it is `former`, at most with another access token: a refresh is no update.
    fileprivate func isRefreshed(_ former: StoredCredential) -> Bool {
        credential.updatedAt == former.credential.updatedAt
            && credential.origins == former.credential.origins
            && credential.form.kind == former.credential.form.kind
    }
}

extension TransferFailure {
    fileprivate static func unusable(_ why: String) -> TransferFailure {
        TransferFailure(.credentialUnusable, why)
    }
}
