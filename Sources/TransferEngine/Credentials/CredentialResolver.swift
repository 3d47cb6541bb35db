import Curl
import Logging
import TransferModel
import TransferStore

/// The credentials of attempts: it finds those that claims are to show, and decides what follows
/// when an origin refuses one.
struct CredentialResolver {
    let store: CredentialStore
    let keeper: CredentialKeeper
    let completer: AttemptCompleter
    let logger: Logger

    /// Looks up the credentials of claims, and passes on what was found for each, by its place
    /// among them; each on its own, so that a slow token endpoint delays nobody else.
    func resolve(
        _ claims: [TaskClaim],
        onFound: @escaping @Sendable (Int, CredentialKeeper.Finding) -> Void
    ) async {
        let queries = claims.map { claim in
            claim.mayShowCredential
                ? claim.origin.map { CredentialQuery(claim: claim, origin: $0) } : nil
        }
        let wanted = queries.compactMap(\.self)
        do throws(StoreError) {
            let found = wanted.isEmpty ? [:] : try await store.credentials(for: wanted)
            await withDiscardingTaskGroup { group in
                for (index, query) in queries.enumerated() {
                    group.addTask {
                        guard let query else { return onFound(index, .begin(claims[index])) }
                        onFound(index, await keeper.finding(for: query, found[query.claim.task]))
                    }
                }
            }
        } catch {
            // It says nothing about the origins, so that it costs no attempt, only a wait.
            logger.debug("credentials not looked up", metadata: ["error": "\(error)"])
            let failure = TransferFailure(.couldNotConnect, "The database did not answer.")
            for (index, query) in queries.enumerated() {
                onFound(index, query == nil ? .begin(claims[index]) : .waitOut(failure))
            }
        }
    }

    /// Returns the outcome of an answer that says the credential is missing or wrong; nil for all
    /// other answers.
    func challenge(
        _ failure: TransferFailure,
        _ claim: TaskClaim,
        from origin: Origin,
        _ remaining: Duration
    ) -> AttemptOutcome? {
        // At another origin, of a mirror or after a redirect, the credential is not shown and would
        // not help.
        guard failure.httpStatus == 401, claim.isAtOrigin, claim.origin == origin else {
            return nil
        }
        return question(failure, claim, to: origin, remaining)
    }

    /// The time within which a client that has not said whether it is asked has to answer: a task
    /// of which nobody knows would otherwise hold up its session's end for `timeout_for_resource`.
    static let answerTimeoutDefault: Duration = .seconds(24 * 3600)

    func question(
        _ failure: TransferFailure,
        _ claim: TaskClaim,
        to origin: Origin,
        _ remaining: Duration
    ) -> AttemptOutcome {
        guard claim.options.asksForCredential ?? true, remaining > .zero else {
            return .failed(failure)
        }
        let isAsked = claim.options.asksForCredential != nil
        return .askForCredential(
            failure,
            origin,
            named: claim.options.credential,
            within: isAsked ? remaining : min(remaining, Self.answerTimeoutDefault)
        )
    }

    /// Gives up an access token that was refused, so that the next attempt obtains another.
    func renew(_ shown: ShownCredential, then submit: @escaping @Sendable () -> Void) {
        completer.expect()
        Task {
            do throws(StoreError) {
                try await store.expireAccessToken(of: shown)
            } catch {
                // Then the next attempt is refused like this one.
                logger.debug("token not given up", metadata: ["error": "\(error)"])
            }
            submit()
            completer.arrived()
        }
    }
}

extension TaskClaim {
    /// The origin that the task asks; nil when its URL cannot be parsed.
    var origin: Origin? {
        do throws(CurlError) { return Origin(try CurlURL(url)) } catch { return nil }
    }
}

extension Origin {
    init(_ url: CurlURL) {
        self.init(scheme: url.scheme, host: url.host, port: Int(url.port))
    }
}
