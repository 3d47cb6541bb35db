import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    static let taskChanges: [StoreVerb] = [
        StoreVerb("submit") { store, world in
            let tasks = (0..<page).map { index in
                TaskSubmission(
                    id: TaskID(.version7()),
                    url: "https://origin.test/a",
                    lane: Lane(key: Int64(index % 10))
                )
            }
            _ = try await store.submit(
                tasks,
                tenant: world.tenant,
                sessionIdentifier: ScaleWorld.large
            )
            return tasks.count
        },
        StoreVerb("cancelTask", pages: 1000) { store, world in
            for state in [TransferState.queued, .suspended, .waitingForRetry, .running] {
                _ = try await store.cancelTask(tenant: world.tenant, id: world.large(state))
            }
            return 4
        },
        StoreVerb("cancelTask(ifAskingIn)") { store, world in
            _ = try await store.cancelTask(
                tenant: world.tenant,
                id: world.large(.waitingToBegin),
                ifAskingIn: .waitingToBegin
            )
            return 1
        },
        StoreVerb("suspendTask") { store, world in
            _ = try await store.suspendTask(tenant: world.tenant, id: world.large(.queued))
            return 1
        },
        StoreVerb("resumeTask") { store, world in
            _ = try await store.resumeTask(tenant: world.tenant, id: world.large(.suspended))
            return 1
        },
        StoreVerb("completeBody") { store, world in
            _ = try await store.completeBody(tenant: world.tenant, id: world.large(.suspended))
            return 1
        },
        StoreVerb("changeTask", pages: 1000) { store, world in
            var change = TaskChange()
            change.clientString = ClientString("new")
            change.priority = .init(rank: 7)
            for state in [TransferState.queued, .waitingForRetry, .waitingForAuthentication] {
                _ = try await store.changeTask(
                    tenant: world.tenant,
                    id: world.large(state),
                    change
                )
            }
            return 3
        },
        StoreVerb("beginTask") { store, world in
            _ = try await store.beginTask(
                tenant: world.tenant,
                id: world.large(.waitingToBegin),
                with: nil
            )
            return 1
        },
        StoreVerb("answerChallenge") { store, world in
            _ = try await store.answerChallenge(
                tenant: world.tenant,
                id: world.large(.waitingForAuthentication),
                with: .given(.bearer, secret: [1])
            )
            return 1
        },
        StoreVerb("refuseChallenge") { store, world in
            _ = try await store.refuseChallenge(
                tenant: world.tenant,
                id: world.large(.waitingForAuthentication)
            )
            return 1
        },
        // A tenth of the session is held by somebody, and looked through.
        StoreVerb("reconnect", pages: 400_000) { store, world in
            try await store.reconnect(
                world.session(0),
                owner: nil,
                time: .seconds(60),
                after: nil,
                limit: page
            ).items.count
        },
        StoreVerb("reconnect(a small session)") { store, world in
            try await store.reconnect(
                world.session(7),
                owner: nil,
                time: .seconds(60),
                after: nil,
                limit: page
            ).items.count
        },
        StoreVerb("renewLease") { store, world in
            let taken = try await takeSome(store, world)
            _ = try await store.renewLease(tenant: world.tenant, taken.lease, for: .seconds(7))
            return 2 * taken.items.count
        },
        StoreVerb("releaseLease") { store, world in
            let taken = try await takeSome(store, world)
            _ = try await store.releaseLease(tenant: world.tenant, taken.lease)
            return 2 * taken.items.count
        },
    ]

    private static func takeSome(
        _ store: TransferStore,
        _ world: ScaleWorld
    ) async throws -> Reconnection {
        try await store.reconnect(
            world.session(0),
            owner: nil,
            time: .seconds(60),
            after: world.large(world.tasks / 2),
            limit: page
        )
    }
}
