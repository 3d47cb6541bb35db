import PollLoop

/// Lookups of hosts' addresses, which transfers wait for before they start.
extension MultiDriver {
    /// Starts a transfer, or makes it wait for the first name whose addresses are not known.
    ///
    /// A host that may not be asked is not looked up either: the question itself would carry its
    /// name to a name server, which somebody else may run.
    func proceed(_ id: UInt64, _ start: TransferStart) {
        guard start.isHostAllowed else { return refuse(start) }
        var start = start
        let now = ContinuousClock.now
        while let name = start.missingName {
            guard !start.request.resolvesAnew, let known = lookups.known(name, at: now) else {
                waiting[id] = start
                timers[id] = loop.schedule(after: start.deadline - now) { [unowned self] in
                    checkTimeout(id)
                }
                let owner = start.owner
                if let question = lookups.wait(id, for: name, of: owner) { ask(question, owner) }
                return
            }
            start.add(known)
        }
        begin(id, start)
    }

    private func refuse(_ start: TransferStart) {
        start.request.egress.refused(host: start.url.host, for: start.request.group)
        // As for addresses: others may reach the host.
        var summary = start.failure(.egressDenied).summary
        summary.isAddressDenied = true
        start.sink.finish(.failure(CurlError(.egressDenied, summary: summary)))
    }

    private func ask(_ question: NameLookups.Question, _ owner: NameLookups.Owner) {
        names.run(for: owner.group, part: owner.subgroup) { [weak self, loop] in
            guard let addresses = question.ask() else { return }
            loop.execute { [weak self] in self?.answered(question, addresses) }
        }
    }

    private func answered(_ question: NameLookups.Question, _ addresses: [String]) {
        guard !isStopped else { return }
        catchUp()
        for id in lookups.answered(question, addresses, at: .now) {
            guard !addresses.isEmpty else {
                let isOfProxy = waiting[id]?.isProxyMissing ?? false
                endWaiting(id, isOfProxy ? .proxyUnreachable : .couldNotResolve)
                continue
            }
            guard var start = takeWaiting(id) else { continue }
            start.add(addresses)
            proceed(id, start)
        }
    }

    private func takeWaiting(_ id: UInt64) -> TransferStart? {
        if let timer = timers.removeValue(forKey: id) { loop.cancel(timer) }
        return waiting.removeValue(forKey: id)
    }

    func endWaiting(_ id: UInt64, _ code: CurlError.Code) {
        guard let start = takeWaiting(id) else { return }
        if let name = start.missingName { lookups.leave(id, name) }
        start.sink.finish(.failure(start.failure(code)))
    }

    func checkWaiting(_ id: UInt64, _ start: TransferStart) {
        let rest = start.deadline - .now
        guard rest > .zero else { return endWaiting(id, .timedOut(.connect)) }
        timers[id] = loop.schedule(after: rest) { [unowned self] in checkTimeout(id) }
    }
}

extension TransferStart {
    /// Whether the host may be asked at all, whatever its addresses.
    fileprivate var isHostAllowed: Bool {
        request.egress.allows(host: url.host, for: request.group)
    }

    fileprivate var owner: NameLookups.Owner {
        NameLookups.Owner(group: request.group, subgroup: request.subgroup)
    }
}
