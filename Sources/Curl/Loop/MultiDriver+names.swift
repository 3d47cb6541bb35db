import PollLoop
import Foundation

/// Lookups of hosts' addresses, which transfers wait for before they start.
extension MultiDriver {
    func ask(_ question: NameLookups.Question, _ group: UUID?) {
        names.run(for: group) { [weak self, loop] in
            guard let addresses = question.ask() else { return }
            loop.execute { [weak self] in self?.answered(question, addresses) }
        }
    }

    private func answered(_ question: NameLookups.Question, _ addresses: [String]) {
        guard !isStopped else { return }
        catchUp()
        for id in lookups.answered(question, addresses, at: .now) {
            guard !addresses.isEmpty else {
                endWaiting(id, .couldNotResolve)
                continue
            }
            guard let start = takeWaiting(id) else { continue }
            begin(
                id,
                start.request,
                url: start.url,
                (start.name, addresses),
                sink: start.sink,
                since: start.since
            )
        }
    }

    private func takeWaiting(_ id: UInt64) -> WaitingStart? {
        if let timer = timers.removeValue(forKey: id) { loop.cancel(timer) }
        return waiting.removeValue(forKey: id)
    }

    func endWaiting(_ id: UInt64, _ code: CurlError.Code) {
        guard let start = takeWaiting(id) else { return }
        lookups.leave(id, start.name)
        var summary = CurlSummary()
        summary.timings.total = .now - start.since
        start.sink.finish(.failure(CurlError(code, summary: summary)))
    }

    func checkWaiting(_ id: UInt64, _ start: WaitingStart) {
        let rest = start.deadline - .now
        guard rest > .zero else { return endWaiting(id, .timedOut(.connect)) }
        timers[id] = loop.schedule(after: rest) { [unowned self] in checkTimeout(id) }
    }
}
