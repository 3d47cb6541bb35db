import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    /// The events of a task that is completed.
    private static let result = TransferResult(
        httpStatus: 200,
        bytesReceived: 42,
        contentType: nil,
        etag: nil,
        isLengthVerified: true
    )

    private static func claim(
        _ store: TransferStore,
        _ world: ScaleWorld,
        isBound: Bool = false
    ) async throws -> [TaskClaim] {
        let flows = try await store.waitingFlows(in: Set(Shard.all).lanes, limit: 8)
        return try await store.claim(
            flows.map { FlowGrant(flow: $0.flow, count: 10, from: $0.position) },
            boundTenants: isBound ? [world.tenant] : [],
            fences: world.worker.reserve(80)
        )
    }

    private static func conclude(
        _ name: String,
        _ verdict: @escaping @Sendable (TaskClaim) -> Conclusion.Verdict
    ) -> StoreVerb {
        StoreVerb("conclude(\(name))", pages: 1000) { store, world in
            let claims = try await claim(store, world)
            let concluded = try await store.conclude(
                claims.map {
                    Conclusion(
                        task: $0.task,
                        fence: $0.fence,
                        verdict: verdict($0),
                        partial: PartialDownload(
                            partFence: $0.fence,
                            ranges: nil,
                            bootID: UUID(),
                            bytesDurable: 1,
                            bytesTotal: 10,
                            validator: EntityValidator(stored: "\"1\"")
                        )
                    )
                }
            )
            return claims.count + 2 * concluded.count
        }
    }

    static let work: [StoreVerb] = [
        StoreVerb("claim") { store, world in try await claim(store, world).count },
        StoreVerb("claim(of a bound tenant)", pages: pagesOfFleet) { store, world in
            _ = try await store.limitTenant(
                named: "scale",
                changes: TenantLimitChanges(runningTasksMax: 10_000)
            )
            return try await claim(store, world, isBound: true).count
        },
        conclude("fetched") { .fetched(result, part: $0.fence) },
        conclude("failed") { _ in .failed(TransferFailure(.connectionLost, "It broke.")) },
        conclude("retry") { _ in
            .retry(TransferFailure(.connectionLost, "It broke."), after: .seconds(7))
        },
        conclude("released") { _ in .released },
        StoreVerb("publish", pages: 1000) { store, world in
            let claims = try await claim(store, world)
            let published = try await store.publish(
                claims.map {
                    Publication(
                        task: $0.task,
                        fence: $0.fence,
                        partFence: $0.fence,
                        tenant: $0.tenant,
                        session: $0.session,
                        number: $0.number,
                        destination: nil,
                        result: result
                    )
                }
            )
            return claims.count + 2 * published.count
        },
        StoreVerb("recordProgress", pages: pagesOfFleet) { store, world in
            let claims = try await claim(store, world)
            try await store.recordProgress(
                claims.map {
                    AttemptProgress(
                        task: $0.task,
                        fence: $0.fence,
                        bytesReceived: 7,
                        bytesExpected: 9
                    )
                }
            )
            return 2 * claims.count
        },
        StoreVerb("recordResumptions", pages: pagesOfFleet) { store, world in
            let claims = try await claim(store, world)
            let told = try await store.recordResumptions(
                claims.map { Resumption(task: $0.task, fence: $0.fence, offset: 7) }
            )
            return claims.count + told.count
        },
        StoreVerb("recordDurable") { store, _ in
            try await store.recordDurable(
                (84..<88).map {
                    (partFence: Fence(rawValue: 20_000_000_000 + $0), bytes: 7, ranges: nil)
                }
            )
            return 4
        },
        StoreVerb("credentials(for)") { store, world in
            let claims = try await claim(store, world)
            let origin = Origin(stored: "https://origin.test")
            _ = try await store.credentials(
                for: claims.map { CredentialQuery(claim: $0, origin: origin) }
            )
            return 2 * claims.count
        },
        StoreVerb("release") { store, world in
            _ = try await store.release(lanes: [Lane(key: 7)])
            // A twenty-fifth of `large` waits for one of fifty hosts.
            return world.tasks / 25 / 50 * 2
        },
        StoreVerb("promoteDue", pages: 1000) { store, _ in
            let promotion = try await store.promoteDue()
            return promotion.promoted + promotion.asked
        },
        StoreVerb("failUnanswered", pages: 1000) { store, _ in try await store.failUnanswered() },
        StoreVerb("controls", pages: pagesOfFleet) { store, world in
            let controls = try await store.controls(
                incarnation: world.worker.incarnation,
                RateQuestion(
                    version: -1,
                    owners: [.tenant(world.tenant), .session(world.session(0))]
                )
            )
            return controls.limits.count
        },
        StoreVerb("takeOver", pages: pagesOfFleet) { store, world in
            let incarnation = try await store.registerWorker(name: "heir")
            let takeover = try await store.takeOver(
                silentFor: .zero,
                identity: WorkerIdentity(incarnation: incarnation)
            )
            return takeover.attempts.count + takeover.publications.count
        },
        StoreVerb("makeClaimsDurable") { store, _ in
            try await store.makeClaimsDurable()
            return 1
        },
        StoreVerb("returnDeliveries") { store, world in
            try await store.returnDeliveries(claimedUnder: world.worker.reserve(1), limit: 1)
            return 1
        },
        StoreVerb("recordAbandoned") { store, world in
            let fences = world.worker.reserve(1)
            try await store.recordAbandoned([(TaskID(UUID()), fences.first)])
            return 1
        },
        StoreVerb("registerWorker") { store, _ in
            _ = try await store.registerWorker(name: "other")
            return 1
        },
        StoreVerb("heartbeat") { store, world in
            _ = try await store.heartbeat(
                incarnation: world.worker.incarnation,
                lease: .seconds(10)
            )
            return 1
        },
        StoreVerb("retireWorker") { store, world in
            try await store.retireWorker(incarnation: world.worker.incarnation)
            return 1
        },
        StoreVerb("leaseShards", pages: 60_000) { store, world in
            try await store.leaseShards(incarnation: world.worker.incarnation).hosts.count
        },
        StoreVerb("foreignAttempts", pages: pagesOfFleet) { store, world in
            try await store.foreignAttempts(inShardsOf: world.worker.incarnation + 1).count
        },
        StoreVerb("releaseShards") { store, world in
            try await store.releaseShards(
                Set(Shard.all),
                incarnation: world.worker.incarnation
            )
            return Shard.count
        },
        StoreVerb("record") { store, world in
            let change = HostChange(
                lane: Lane(key: 7),
                name: "h7.test:443",
                decision: RemoteHost.Decision(
                    decidedAt: Date(),
                    before: 2,
                    after: 1,
                    reason: "slow"
                ),
                connections: 1,
                isClosed: false,
                tenants: [world.tenant]
            )
            try await store.record([change])
            return 1
        },
        StoreVerb("limitHost") { store, _ in
            _ = try await store.limitHost(Lane(key: 7), name: "h7.test:443", maxConnections: 7)
            return 1
        },
        StoreVerb("removeRevocations") { store, _ in
            try await store.removeRevocations((0..<100).map { Fence(rawValue: $0) })
            return 100
        },
        StoreVerb("forgetAbandonedParts") { store, _ in
            try await store.forgetAbandonedParts(
                (0..<100).map { Fence(rawValue: 50_000_000_000 + $0) }
            )
            return 100
        },
    ]
}
