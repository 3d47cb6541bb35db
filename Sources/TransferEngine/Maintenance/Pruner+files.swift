import Logging
import TransferContainer
import TransferModel
import TransferStore

extension Pruner {
    /// The pause between two batches of entries, so that searching a full container takes only a
    /// small part of its disk's capacity.
    private static let sweepPause: Duration = .milliseconds(100)

    /// Removes the results of tasks that are no longer kept, and then the tasks.
    ///
    /// The files go first: if this is stopped in between, the tasks are found again.
    func expireTasks() async throws(StoreError) {
        var place: SessionID?
        repeat {
            let page = try await stores.retention.sessionsToExpire(
                after: place,
                notAfter: removals.clock.latest
            )
            for session in page.sessions { try await expireTasks(of: session) }
            place = page.position
        } while place != nil
    }

    private func expireTasks(of session: SessionID) async throws(StoreError) {
        var place: TaskID?
        repeat {
            let page = try await stores.retention.tasksToExpire(
                of: session,
                after: place,
                holdMax: holdMax,
                notAfter: removals.clock.latest
            )
            let gone = Set(await files.remove(page.remains))
            try await stores.retention.expire(
                page.remains.filter { gone.contains($0.task) }
                    .map { (task: $0.task, finishedAt: $0.finishedAt) }
            )
            place = page.position
        } while place != nil && !Task.isCancelled
    }

    /// Removes the bodies that clients brought for uploads which have ended.
    ///
    /// One whose task the database does not know is left to ``sweepFiles(isThorough:)``.
    func sweepBodies() async throws(StoreError) {
        do {
            for tenant in try await files.tenants() {
                try await files.begin(tenant, beneath: ResultLocation.bodyFolder)
                while let batch = await files.next(
                    of: tenant,
                    beneath: ResultLocation.bodyFolder,
                    isThorough: false,
                    ageMin: .zero
                ) {
                    let bodies = batch.compactMap { leftover in
                        if case .body(let task) = leftover.kind {
                            (task, leftover.place)
                        } else {
                            nil
                        }
                    }
                    let tasks = bodies.map(\.0)
                    guard !tasks.isEmpty else { continue }
                    let living = try await stores.verification.outstandingTasks(among: tasks)
                    let known = try await stores.verification.tasks(among: tasks)
                    let ended = bodies.filter { known.contains($0.0) && !living.contains($0.0) }
                    // Those that could not be removed are found again, and count as kept until
                    // then.
                    guard await files.remove(ended.map(\.1)) == ended.count else { continue }
                    try await stores.stagedBodies.forget(ended.map(\.0))
                }
            }
        } catch let error as StoreError {
            throw error
        } catch {
            logger.warning("upload bodies not checked", metadata: ["error": "\(error)"])
        }
        try await forgetBodies()
    }

    /// Removes what is known of bodies whose tasks have ended or are gone, also of those that have
    /// no file to be found by.
    private func forgetBodies() async throws(StoreError) {
        var place: TaskID?
        repeat {
            let page = try await stores.stagedBodies.bodiesToForget(after: place)
            try await stores.stagedBodies.forget(await files.remove(page.remains))
            place = page.position
        } while place != nil && !Task.isCancelled
    }

    /// Removes the packs that have neither results nor a writer; nothing in them has to be asked
    /// about.
    func sweepEmptyPacks() async {
        do throws(StorageError) {
            for tenant in try await files.tenants() {
                try await files.removeEmptyPacks(of: tenant)
            }
        } catch {
            logger.warning("packs not checked", metadata: ["error": "\(error)"])
        }
    }

    /// Removes the part files and bodies that no row names: a worker that was only asleep when it
    /// was declared dead, and was then killed, leaves such files.
    ///
    /// It does so only in folders of tenants that the database knows: a database that was restored,
    /// or is another one, must not cost anybody files.
    ///
    /// Only the database can say whether a file without a destination is a result, so old ones are
    /// asked for only if the search is to be thorough.
    func sweepFiles(isThorough: Bool = true) async throws(StoreError) {
        var removed = 0
        do {
            let folders = try await files.tenants()
            let known = try await stores.verification.tenants(among: folders)
            for tenant in folders where known.contains(tenant) {
                try await files.begin(tenant)
                while let batch = await files.next(of: tenant, isThorough: isThorough) {
                    removed += await files.remove(try await batch.placesOfNobody(stores))
                    try await Task.sleep(for: Self.sweepPause)
                }
            }
        } catch let error as StoreError {
            throw error
        } catch let error as StorageError {
            logger.warning("container not checked", metadata: ["error": "\(error)"])
        } catch {
            // Cancelled.
            return
        }
        if removed > 0 {
            logger.info("files of nobody removed", metadata: ["count": "\(removed)"])
        }
    }
}

extension [ContainerSweeper.Leftover] {
    /// The files among these that no row names.
    func placesOfNobody(
        _ stores: EngineStores
    ) async throws(StoreError) -> [Container.Place] {
        guard !isEmpty else { return [] }
        var fences: [Fence] = []
        var attempted: [TaskID] = []
        var uploaded: [TaskID] = []
        for leftover in self {
            switch leftover.kind {
            case .part(let fence): fences.append(fence)
            case .result(let task, let fence):
                fences.append(fence)
                attempted.append(task)
            case .body(let task): uploaded.append(task)
            case .emptyPack: break
            }
        }
        // A fence is given out once, and a row names it before there is a file: what no row names
        // now, none will name later.
        let needed = try await stores.verification.namedParts(among: fences, of: attempted)
        let living = try await stores.verification.outstandingTasks(among: uploaded)
        // A file that may be the result of a task that only a lost database knows is not removed.
        let known = try await stores.verification.tasks(among: attempted)
        return filter { leftover in
            switch leftover.kind {
            case .part(let fence): !needed.contains(fence)
            case .result(let task, let fence): known.contains(task) && !needed.contains(fence)
            case .body(let task): !living.contains(task)
            case .emptyPack: true
            }
        }.map(\.place)
    }
}
