import TransferModel

/// The attempts for which there is no connection yet, each behind earlier ones of its flow.
struct WaitingAttempts {
    private struct Entry {
        /// Its number in the order of arrival.
        let number: Int
        let fence: Fence
        let attempt: any TransferAttempt
    }

    /// The waiting attempts of each flow; no line is empty.
    private var lines: [Flow: [Entry]] = [:]
    private var arrivals = 0

    var isEmpty: Bool { lines.isEmpty }

    /// All waiting attempts, in order of arrival.
    var all: [any TransferAttempt] {
        lines.values.joined().sorted { $0.number < $1.number }.map(\.attempt)
    }

    /// The fences of all waiting attempts.
    var fences: Set<Fence> { Set(lines.values.joined().map(\.fence)) }

    mutating func append(_ attempt: any TransferAttempt) {
        let claim = attempt.claim
        arrivals += 1
        let entry = Entry(number: arrivals, fence: claim.fence, attempt: attempt)
        lines[claim.flow, default: []].append(entry)
    }

    mutating func remove(_ fence: Fence, of flow: Flow) {
        lines[flow]?.removeAll { $0.fence == fence }
        if lines[flow]?.isEmpty ?? false { lines[flow] = nil }
    }

    func contains(where isMeant: (HostKey) -> Bool) -> Bool {
        lines.keys.contains { isMeant($0.hostKey) }
    }

    /// Removes and returns the attempts that may start, the oldest first, until nothing is left for
    /// any of them.
    ///
    /// After an attempt that may not start, the others of its flow are not asked about: they would
    /// wait for the same. So the end of one attempt costs no more when many wait in a line.
    mutating func take(
        while isAnyLeft: () -> Bool,
        where mayBegin: (TaskClaim) -> Bool
    ) -> [any TransferAttempt] {
        guard !lines.isEmpty, isAnyLeft() else { return [] }
        // The oldest attempt of each line, the oldest of all last.
        var heads = lines.compactMap { flow, line in
            line.first.map { (number: $0.number, flow: flow) }
        }
        .sorted { $0.number > $1.number }
        var taken: [any TransferAttempt] = []
        while isAnyLeft(), let (_, flow) = heads.popLast(),
            let attempt = lines[flow]?.first?.attempt
        {
            guard mayBegin(attempt.claim) else { continue }
            taken.append(attempt)
            lines[flow]?.removeFirst()
            if let next = lines[flow]?.first {
                let place = heads.lastIndex { $0.number > next.number }.map { $0 + 1 } ?? 0
                heads.insert((next.number, flow), at: place)
            } else {
                lines[flow] = nil
            }
        }
        return taken
    }
}
