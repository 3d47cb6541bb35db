import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    private static func tasks(
        _ state: TransferState?,
        of session: String,
        isFirst: Bool = true,
        pages: Int64 = 400
    ) -> StoreVerb {
        let kind = state?.rawValue ?? (isFirst ? "all" : "from the middle on")
        return StoreVerb("tasks(\(session), \(kind))", pages: pages) { stores, world in
            let found = try await stores.taskLists.tasks(
                tenant: world.tenant,
                sessionIdentifier: session,
                filter: TaskFilter(states: state.map { [$0] } ?? []),
                after: isFirst ? nil : world.large(world.tasks / 2),
                limit: page
            )
            return found?.tasks.count ?? 0
        }
    }

    static let taskReads: [StoreVerb] =
        [
            StoreVerb("tasks(tenant)", pages: pagesOfLook) { stores, world in
                try await stores.taskLists.tasks(
                    tenant: world.tenant,
                    filter: TaskFilter(states: [.failed, .queued], isNewestFirst: true),
                    after: nil,
                    limit: page
                ).tasks.count
            },
            StoreVerb("figures") { stores, _ in
                try await stores.fleet.figures().tasks.count
            },
            StoreVerb("request") { stores, world in
                guard try await stores.tasks.request(of: world.kept(0)) != nil else {
                    throw CancellationError()
                }
                return 1
            },
            StoreVerb("outstanding") { stores, world in
                try await stores.sessions.outstanding(of: (0..<page).map(world.session)).count
            },
        ]
        + TransferState.allCases.map {
            tasks(
                $0,
                of: ScaleWorld.large,
                pages: $0 == .running ? pagesOfFleet : pagesOfLook
            )
        }
        + TransferState.allCases.map {
            tasks(
                $0,
                of: ScaleWorld.kept,
                pages: $0.isTerminal ? 400 : $0 == .running ? pagesOfFleet : pagesOfLook
            )
        } + [
            tasks(nil, of: ScaleWorld.large),
            tasks(nil, of: ScaleWorld.kept),
            tasks(nil, of: ScaleWorld.large, isFirst: false),
            tasks(nil, of: "s7"),
            tasks(.queued, of: "s7"),
            StoreVerb("task") { stores, world in
                for task in [
                    world.large(.queued), world.large(.running), world.large(.waitingForRetry),
                    world.kept(1),
                ] {
                    _ = try await stores.tasks.task(tenant: world.tenant, id: task)
                }
                return 4
            },
            StoreVerb("states") { stores, world in
                try await stores.tasks.states(of: (0..<page).map(world.large)).count
            },
            StoreVerb("responseBody") { stores, world in
                _ = try await stores.tasks.responseBody(tenant: world.tenant, task: world.kept(1))
                return 1
            },
            StoreVerb("attempts") { stores, world in
                try await stores.tasks.attempts(tenant: world.tenant, task: world.kept(1))?.count
                    ?? 0
            },
            StoreVerb("metrics") { stores, world in
                _ = try await stores.tasks.metrics(
                    tenant: world.tenant,
                    task: world.large(.running)
                )
                return 1
            },
            StoreVerb("isExpired") { stores, world in
                _ = try await stores.tasks.isExpired(tenant: world.tenant, id: world.expired(1))
                return 1
            },
            StoreVerb("hasResumeData") { stores, _ in
                _ = try await stores.control.hasResumeData(ResumeDataID(UUID()))
                return 0
            },
            StoreVerb("tasks(among)") { stores, world in
                try await stores.verification.tasks(among: (0..<page).map(world.kept)).count
            },
            StoreVerb("outstandingTasks") { stores, world in
                _ = try await stores.verification.outstandingTasks(
                    among: (0..<page).map(world.kept)
                )
                return page
            },
            StoreVerb("namedParts") { stores, world in
                let fences = (0..<page).map { Fence(rawValue: 20_000_000_000 + Int64($0)) }
                _ = try await stores.verification.namedParts(
                    among: fences,
                    of: (0..<page).map(world.kept)
                )
                return page
            },
            StoreVerb("keptParts") { stores, world in
                let parts = (0..<page).map {
                    (task: world.kept($0), fence: Fence(rawValue: 20_000_000_000 + Int64($0)))
                }
                _ = try await stores.parts.keptParts(parts)
                return page
            },
            StoreVerb("abandonedParts") { stores, _ in try await stores.parts.abandonedParts().count
            },
        ]
}
