import Foundation
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// A complete file whose pending rename is in the database, and whose worker has died.
struct OrphanedRename {
    let claim: TaskClaim
    let pendingRename: PendingRename

    /// Submits a task for `path`, which `worker` brings to that state.
    init(
        _ fixture: EngineFixture,
        by worker: WorkerIdentity,
        _ body: OriginBody,
        at path: String
    ) async throws {
        fixture.origin.when("/renamed", .response(body: body))
        _ = try await fixture.submit(fixture.origin.url("/renamed")) {
            $0.destination = Destination(path: path, overwrite: false)
        }
        claim = try #require(try await fixture.stores.queue.claimAny(1, by: worker).first)
        let container = try Container(directory: fixture.directory)
        pendingRename = try Self.pendingRename(of: claim, body, in: container)
        let begun = try await fixture.stores.completions.end([], beginning: [pendingRename])
        #expect(begun == [claim.task])
    }

    /// Writes the part file of an attempt.
    static func pendingRename(
        of claim: TaskClaim,
        _ body: OriginBody,
        in container: Container
    ) throws -> PendingRename {
        let place = Container.Place(
            partOf: claim.task,
            destination: claim.destination,
            fence: claim.fence,
            tenant: claim.tenant
        )
        try container.prepareDirectory(of: place)
        let part = try PartFile(place, fence: claim.fence, in: container)
        try body.bytes.withUnsafeBytes { try part.write($0) }
        return PendingRename(
            of: claim,
            result: TransferResult(
                httpStatus: 200,
                bytesReceived: Int64(body.count),
                isLengthVerified: true
            ),
            file: try part.identity()
        )
    }
}
