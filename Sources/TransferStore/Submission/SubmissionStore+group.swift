import Postgres

extension SubmissionStore {
    /// Stores the requests of `group` in one transaction, except those that cannot be stored at
    /// once.
    ///
    /// A request is left over if another transaction holds its session, the session accepts no
    /// tasks, or the transaction failed. It continues without the others, so that none of them
    /// waits or fails because of it.
    func submit(
        _ group: [SubmissionGatherer.Member],
        in gatherer: SubmissionGatherer
    ) async {
        let batches = MemberBatch.of(group)
        let results: [Int: SubmitResult]
        do throws(StoreError) {
            results = try await submit(batches.map(\.batch), whenLocked: .skip)
        } catch  where error.concernsOnlyItsRequests {
            results = [:]
        } catch {
            for member in group { member.answer(.failure(error)) }
            return gatherer.groupEnded(freeing: Set(batches.map(\.session)), on: self)
        }
        for (index, batch) in batches.enumerated() {
            guard let result = results[index] else { continue }
            batch.answer(.success(result))
        }
        let left = batches.indices.filter { results[$0] == nil }.map { batches[$0] }
        let stored = Set(batches.map(\.session)).subtracting(left.map(\.session))
        gatherer.groupEnded(freeing: stored, on: self)
        await withTaskGroup(of: Void.self) { tasks in
            for batch in left {
                tasks.addTask {
                    await submit(left: batch)
                    gatherer.sessionEnded(batch.session, on: self)
                }
            }
        }
    }

    /// Stores the requests to one session together, or each alone if that fails.
    private func submit(left batch: MemberBatch) async {
        if batch.members.count > 1 {
            do throws(StoreError) {
                if let result = try await submit([batch.batch], whenLocked: .wait)[0] {
                    return batch.answer(.success(result))
                }
            } catch  where error.concernsOnlyItsRequests {
                // The other requests to the session need not fail with the one at fault.
            } catch {
                return batch.answer(.failure(error))
            }
        }
        await withTaskGroup(of: Void.self) { tasks in
            for member in batch.members {
                tasks.addTask {
                    do throws(StoreError) {
                        member.answer(.success(try await submitAlone(member.request)))
                    } catch {
                        member.answer(.failure(error))
                    }
                }
            }
        }
    }
}

/// The members of a group that submit to one session, in the order of the group.
private struct MemberBatch: Sendable {
    let session: SessionKey
    var members: [SubmissionGatherer.Member]

    var batch: SessionBatch {
        SessionBatch(session: session, requests: members.map(\.request))
    }

    func answer(_ outcome: SubmissionGatherer.Outcome) {
        for member in members { member.answer(outcome) }
    }

    static func of(_ group: [SubmissionGatherer.Member]) -> [MemberBatch] {
        var batches: [MemberBatch] = []
        var places: [SessionKey: Int] = [:]
        for member in group {
            let session = member.request.session
            if let place = places[session] {
                batches[place].members.append(member)
            } else {
                places[session] = batches.count
                batches.append(MemberBatch(session: session, members: [member]))
            }
        }
        return batches
    }
}

extension StoreError {
    /// Whether nothing was stored because of the requests themselves, so that other requests may be
    /// stored.
    ///
    /// An absent database says nothing about the requests, and one short of resources would not do
    /// better with many statements in place of one.
    fileprivate var concernsOnlyItsRequests: Bool {
        switch self {
        case .defect(let error): error.code != .decoding
        // The statement or the wait for a lock reached its time limit, and the server has undone
        // it.
        case .unavailable(let error): ["57014", "55P03"].contains(error.sqlState)
        case .idempotencyKeyInUse, .forceQuitInProgress, .quotaExceeded: true
        }
    }
}
