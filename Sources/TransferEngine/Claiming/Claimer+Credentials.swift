import Curl
import Logging
import TransferModel
import TransferStore

extension Claimer {
    /// Starts claimed tasks: those that may show a credential once it has been looked up, and those
    /// whose request must not be sent twice once the claim outlasts a crash of the database.
    func begin(_ claims: [TaskClaim]) {
        var repeatable: [AttemptWait] = []
        var unrepeatable: [AttemptWait] = []
        for claim in claims {
            guard claim.mayShowCredential || !claim.isIdempotent else {
                start(claim)
                continue
            }
            let wait = AttemptWait(claim)
            guard admit(wait) else { continue }
            if claim.isIdempotent { repeatable.append(wait) } else { unrepeatable.append(wait) }
        }
        whileExpected(repeatable) { await lookUp($0) }
        whileExpected(unrepeatable) { await makeDurable($0) }
    }

    private func whileExpected(
        _ waits: [AttemptWait],
        _ body: @escaping @Sendable ([AttemptWait]) async -> Void
    ) {
        guard !waits.isEmpty else { return }
        // The publisher counts the waits while neither a slot nor an entry may stand for them.
        publisher.expect()
        Task {
            await body(waits)
            publisher.arrived()
        }
    }

    /// Makes the claims durable, once for all waits of a claim; nothing is sent before, for the
    /// next claim would send it again.
    private func makeDurable(_ waits: [AttemptWait]) async {
        do throws(StoreError) {
            try await stores.queue.makeClaimsDurable()
        } catch {
            logger.debug("claims not durable", metadata: ["error": "\(error)"])
            for wait in waits { settle(wait, .release) }
            return
        }
        await lookUp(waits)
    }

    private func lookUp(_ waits: [AttemptWait]) async {
        let queries = waits.map { wait in
            wait.claim.mayShowCredential
                ? wait.claim.origin.map { CredentialQuery(claim: wait.claim, origin: $0) } : nil
        }
        let wanted = queries.compactMap(\.self)
        do throws(StoreError) {
            let found = wanted.isEmpty ? [:] : try await stores.credentials.credentials(for: wanted)
            // Each on its own, so that a slow token endpoint delays nobody else.
            await withDiscardingTaskGroup { group in
                for (wait, query) in zip(waits, queries) {
                    group.addTask {
                        guard let query else { return settle(wait, .begin(wait.claim)) }
                        let stored = found[wait.claim.task]
                        settle(wait, await credentials.finding(for: query, stored))
                    }
                }
            }
        } catch {
            logger.debug("no credentials", metadata: ["error": "\(error)"])
            let failure = TransferFailure(.couldNotConnect, "The database did not answer.")
            for wait in waits { settle(wait, .retry(failure)) }
        }
    }

    /// Replaces the wait by its attempt, or ends it.
    private func settle(_ wait: AttemptWait, _ finding: CredentialKeeper.Finding) {
        // Whatever follows may have freed the slot.
        defer { wake() }
        let claim = wait.claim
        bandwidth.remove(claim.fence)
        if let postponed = active.remove(claim) {
            // This attempt was taken away, and the next one of its task is already waiting.
            end(claim, .released)
            start(postponed)
            return
        }
        guard !wait.isAbandoned else {
            end(claim, .released)
            return
        }
        let remaining = claim.timeoutForResource - claim.elapsed
        let verdict: Conclusion.Verdict
        switch finding {
        case .begin(let claim):
            start(claim)
            return
        case .ask(let failure):
            verdict =
                claim.origin.map { question(failure, claim, to: $0, remaining) }
                ?? .failed(failure)
        case .retry(let failure):
            verdict = decision(after: failure, claim, remaining: remaining)
        case .release: verdict = .released
        }
        end(claim, verdict)
    }

    /// Returns the verdict on an answer that says the credential is missing or wrong; nil for all
    /// other answers.
    func challenge(
        _ failure: TransferFailure,
        _ claim: TaskClaim,
        from url: CurlURL,
        _ remaining: Duration
    ) -> Conclusion.Verdict? {
        // At another origin, after a redirect, the credential is not shown and would not help.
        guard failure.httpStatus == 401, let origin = claim.origin, Origin(url) == origin else {
            return nil
        }
        return question(failure, claim, to: origin, remaining)
    }

    private func question(
        _ failure: TransferFailure,
        _ claim: TaskClaim,
        to origin: Origin,
        _ remaining: Duration
    ) -> Conclusion.Verdict {
        guard claim.options.asksForCredential ?? true, remaining > .zero else {
            return .failed(failure)
        }
        return .askForCredential(
            failure,
            origin,
            named: claim.options.credential,
            within: remaining
        )
    }

    /// Gives up an access token that was refused, so that the next attempt obtains another.
    func renew(_ shown: ShownCredential, then conclude: @escaping @Sendable () -> Void) {
        publisher.expect()
        Task {
            do throws(StoreError) {
                try await stores.credentials.expireAccessToken(of: shown)
            } catch {
                // Then the next attempt is refused like this one.
                logger.debug("token not given up", metadata: ["error": "\(error)"])
            }
            conclude()
            publisher.arrived()
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
