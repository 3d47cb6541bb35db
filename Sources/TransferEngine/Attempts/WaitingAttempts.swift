import TransferModel

/// Attempts for which there is no connection yet, each behind those of its flow that came before.
struct WaitingAttempts {
    private struct Entry {
        /// Its place among all that came.
        let number: Int
        let fence: Fence
        let attempt: any TransferAttempt
    }

    /// None of them is empty.
    private var lines: [Flow: [Entry]] = [:]
    private var arrivals = 0

    var isEmpty: Bool { lines.isEmpty }

    /// All of them, in the order in which they came.
    var all: [any TransferAttempt] {
        lines.values.joined().sorted { $0.number < $1.number }.map(\.attempt)
    }

    /// Those of all of them.
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

    func contains(where isMeant: (Lane) -> Bool) -> Bool {
        lines.keys.contains { isMeant($0.lane) }
    }

    /// Takes those out that may begin, the oldest first, until there is nothing left for any of them.
    ///
    /// Behind one that may not, those of its flow are not asked about: what it waits for they would
    /// wait for as well. So one end costs no more for how many wait in a line.
    mutating func take(
        while isAnyLeft: () -> Bool,
        where mayBegin: (TaskClaim) -> Bool
    ) -> [any TransferAttempt] {
        guard !lines.isEmpty, isAnyLeft() else { return [] }
        // The oldest of each line, the very oldest last.
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
