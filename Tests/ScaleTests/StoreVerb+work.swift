import Foundation
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    /// The result of a task that is completed.
    private static let result = TransferResult(
        httpStatus: 200,
        bytesReceived: 42,
        isLengthVerified: true
    )

    private static func claim(
        _ stores: Stores,
        _ world: ScaleWorld,
        isBound: Bool = false
    ) async throws -> [TaskClaim] {
        let flows = try await stores.queue.waitingFlows(in: Set(Shard.all).hostKeys, limit: 8)
        return try await stores.queue.claim(
            flows.map { FlowGrant(flow: $0.flow, count: 10, from: $0.position) },
            boundTenants: isBound ? [world.tenant] : [],
            fences: world.worker.reserve(80)
        )
    }

    private static func end(
        _ name: String,
        _ outcome: @escaping @Sendable (TaskClaim) -> AttemptOutcome
    ) -> StoreVerb {
        StoreVerb("end(\(name))", pages: 1000) { stores, world in
            let claims = try await claim(stores, world)
            let ended = try await stores.completions.end(
                claims.map {
                    AttemptEnd(
                        task: $0.task,
                        fence: $0.fence,
                        outcome: outcome($0),
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
            return claims.count + 2 * ended.count
        }
    }

    static let work: [StoreVerb] = [
        StoreVerb("claim") { stores, world in try await claim(stores, world).count },
        StoreVerb("claim(of a bound tenant)", pages: pagesOfFleet) { stores, world in
            _ = try await stores.tenants.limitTenant(
                named: "scale",
                changes: TenantLimitChanges(runningTasksMax: 10_000)
            )
            return try await claim(stores, world, isBound: true).count
        },
        end("fetched") { .fetched(result, part: $0.fence) },
        end("failed") { _ in .failed(TransferFailure(.connectionLost, "It broke.")) },
        end("retry") { _ in
            .retry(TransferFailure(.connectionLost, "It broke."), after: .seconds(7))
        },
        end("moved") { _ in
            .moved(
                TransferFailure(.connectionLost, "It broke."),
                MirrorMove(
                    place: MirrorPlace(rank: 1),
                    host: HostKey(host: "mirror.test", port: 443),
                    wait: .nothing
                )
            )
        },
        end("released") { _ in .released },
        StoreVerb("end(beginning)", pages: 1000) { stores, world in
            let claims = try await claim(stores, world)
            let file = FileIdentity(inode: 1, bornAtNanoseconds: 1)
            let begun = try await stores.completions.end(
                [],
                beginning: claims.map { PendingRename(of: $0, result: result, file: file) }
            )
            return claims.count + 2 * begun.count
        },
        StoreVerb("recordProgress", pages: pagesOfFleet) { stores, world in
            let claims = try await claim(stores, world)
            try await stores.parts.recordProgress(
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
        StoreVerb("recordResumptions", pages: pagesOfFleet) { stores, world in
            let claims = try await claim(stores, world)
            let told = try await stores.parts.recordResumptions(
                claims.map { Resumption(task: $0.task, fence: $0.fence, offset: 7) }
            )
            return claims.count + told.count
        },
        StoreVerb("keep(of an upload)", pages: pagesOfFleet) { stores, world in
            let claims = try await claim(stores, world)
            for claim in claims {
                let resource = UploadResource(
                    fence: claim.fence,
                    dialect: .ietf,
                    url: "https://a.test/1",
                    isAtOrigin: true,
                    body: "data"
                )
                _ = try await stores.uploadResources.keep(resource, of: claim)
            }
            return 2 * claims.count
        },
        StoreVerb("resources(of uploads)", pages: pagesOfFleet) { stores, world in
            let claims = try await claim(stores, world)
            return try await stores.uploadResources.resources(of: claims).count + claims.count
        },
        StoreVerb("takeFailures", pages: pagesOfFleet) { stores, world in
            let claims = try await claim(stores, world)
            return try await stores.testHooks.takeFailures(of: claims).count + claims.count
        },
        StoreVerb("places(among mirrors)", pages: pagesOfFleet) { stores, world in
            let claims = try await claim(stores, world)
            return try await stores.mirrors.places(of: claims).count + claims.count
        },
        StoreVerb("keptResults", pages: pagesOfFleet) { stores, world in
            try await stores.copies.keptResults(of: (0..<16).map(world.kept), tenant: world.tenant)
                .count
        },
        StoreVerb("sendingResults", pages: pagesOfFleet) { stores, world in
            var claims = try await claim(stores, world)
            for index in claims.indices {
                claims[index].request.upload = .copy(.result(of: world.kept(index)))
            }
            claims = try await stores.copies.sendingResults(claims)
            return claims.count { $0.request.copiedTask == nil } + claims.count
        },
        StoreVerb("forget(of an upload)") { stores, world in
            let resource = UploadResource(
                fence: Fence(rawValue: 7),
                dialect: .ietf,
                url: "https://a.test/1",
                isAtOrigin: true,
                body: "data"
            )
            try await stores.uploadResources.forget(resource, of: world.expired(7))
            return 1
        },
        StoreVerb("recordDurable") { stores, _ in
            try await stores.parts.recordDurable(
                (84..<88).map {
                    (partFence: Fence(rawValue: 20_000_000_000 + $0), bytes: 7, ranges: nil)
                }
            )
            return 4
        },
        StoreVerb("credentials(for)") { stores, world in
            let claims = try await claim(stores, world)
            let origin = Origin(stored: "https://origin.test")
            _ = try await stores.credentials.credentials(
                for: claims.map { CredentialQuery(claim: $0, origin: origin) }
            )
            return 2 * claims.count
        },
        StoreVerb("release") { stores, world in
            _ = try await stores.queue.release(hostKeys: [HostKey(rawValue: 7)])
            // A twenty-fifth of `large` waits for one of fifty hosts.
            return world.tasks / 25 / 50 * 2
        },
        StoreVerb("promoteDue", pages: 1000) { stores, _ in
            let promotion = try await stores.queue.promoteDue()
            return promotion.promoted + promotion.asked
        },
        StoreVerb("failUnanswered", pages: 1000) { stores, _ in
            try await stores.questions.failUnanswered()
        },
        StoreVerb("controls", pages: pagesOfFleet) { stores, world in
            let controls = try await stores.workers.controls(
                incarnation: world.worker.incarnation,
                RateQuery(
                    version: -1,
                    owners: [.tenant(world.tenant), .session(world.session(0))]
                )
            )
            return controls.limits.count
        },
        StoreVerb("takeOver", pages: pagesOfFleet) { stores, world in
            let incarnation = try await stores.workers.registerWorker(name: "heir")
            let takeover = try await stores.workers.takeOver(
                silentFor: .zero,
                identity: WorkerIdentity(incarnation: incarnation)
            )
            return takeover.attempts.count + takeover.pendingRenames.count
        },
        StoreVerb("makeClaimsDurable") { stores, world in
            let claims = try await claim(stores, world)
            return try await claims.count + stores.queue.makeClaimsDurable(claims).count
        },
        StoreVerb("returnDeliveries") { stores, world in
            try await stores.deliveries.returnDeliveries(
                claimedUnder: world.worker.reserve(1),
                limit: 1
            )
            return 1
        },
        StoreVerb("recordAbandoned") { stores, world in
            let fences = world.worker.reserve(1)
            try await stores.parts.recordAbandoned([(TaskID(UUID()), fences.first)])
            return 1
        },
        StoreVerb("registerWorker") { stores, _ in
            _ = try await stores.workers.registerWorker(name: "other")
            return 1
        },
        StoreVerb("heartbeat") { stores, world in
            _ = try await stores.workers.heartbeat(
                incarnation: world.worker.incarnation,
                lease: .seconds(10)
            )
            return 1
        },
        StoreVerb("retireWorker") { stores, world in
            try await stores.workers.retireWorker(incarnation: world.worker.incarnation)
            return 1
        },
        StoreVerb("leaseShards", pages: 3000) { stores, world in
            try await stores.workers.leaseShards(incarnation: world.worker.incarnation).hosts.count
        },
        StoreVerb("foreignAttempts", pages: pagesOfFleet) { stores, world in
            try await stores.workers.foreignAttempts(inShardsOf: world.worker.incarnation + 1).count
        },
        StoreVerb("releaseShards") { stores, world in
            try await stores.workers.releaseShards(
                Set(Shard.all),
                incarnation: world.worker.incarnation
            )
            return Shard.count
        },
        StoreVerb("record") { stores, world in
            let change = HostChange(
                hostKey: HostKey(rawValue: 7),
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
            try await stores.hosts.record([change])
            return 1
        },
        StoreVerb("limitHost") { stores, _ in
            _ = try await stores.hosts.limitHost(
                HostKey(rawValue: 7),
                name: "h7.test:443",
                maxConnections: 7
            )
            return 1
        },
        StoreVerb("removeRevocations") { stores, _ in
            try await stores.workers.removeRevocations((0..<100).map { Fence(rawValue: $0) })
            return 100
        },
        StoreVerb("forgetAbandonedParts") { stores, _ in
            try await stores.parts.forgetAbandonedParts(
                (0..<100).map { Fence(rawValue: 50_000_000_000 + $0) }
            )
            return 100
        },
    ]
}
