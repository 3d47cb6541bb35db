import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// What workers do with tasks.
extension APIServer {
    /// Gives all queued tasks to a worker.
    func claimAll() async throws -> [TaskClaim] {
        let identity = WorkerIdentity(
            incarnation: try await stores.workers.registerWorker(name: "test")
        )
        return try await stores.queue.claimAny(10, by: identity)
    }

    /// Gives the only queued task to a worker.
    func claim() async throws -> TaskClaim {
        let claims = try await claimAll()
        #expect(claims.count == 1)
        return try #require(claims.first)
    }

    /// Performs the work of a worker on all queued tasks: `bytes` become their files.
    func complete(
        _ bytes: [UInt8],
        contentType: String? = "image/png",
        fields: [(name: String, value: String)] = [],
        suggestedFileName: String? = nil,
        finalURL: String? = nil,
        checksums: [Checksum] = []
    ) async throws {
        let claims = try await claimAll()
        let result = TransferResult(
            httpStatus: 200,
            bytesReceived: Int64(bytes.count),
            fields: KeptFields(of: (contentType.map { [("Content-Type", $0)] } ?? []) + fields),
            isLengthVerified: true,
            suggestedFileName: suggestedFileName,
            finalURL: finalURL,
            checksums: checksums
        )
        for claim in claims {
            let place = try #require(
                ResultLocation.path(
                    of: claim.task,
                    destination: claim.destination,
                    part: claim.fence
                )
            )
            let file = URL(filePath: "\(containers)/\(claim.tenant)/\(place)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(bytes).write(to: file)
            var end = AttemptEnd(
                task: claim.task,
                fence: claim.fence,
                outcome: .fetched(result, part: claim.fence),
                bytesReceived: result.bytesReceived
            )
            if claim.destination != nil {
                let identity = FileIdentity(inode: 1, bornAtNanoseconds: 1)
                let begun = try await stores.completions.end(
                    [],
                    beginning: [PendingRename(of: claim, result: result, file: identity)]
                )
                #expect(begun == [claim.task])
                end = AttemptEnd(task: claim.task, fence: claim.fence, outcome: .completed)
            }
            let ended = try await stores.completions.end([end])
            #expect(ended == [claim.task])
        }
    }

    /// Returns the path where the file of a completed task belongs.
    func file(of task: TaskID, tenant: TenantID) async throws -> String {
        let task = try #require(try await stores.tasks.task(tenant: tenant, id: task))
        let path = try #require(
            ResultLocation.path(of: task.id, destination: task.destination, part: task.part)
        )
        return "\(containers)/\(tenant)/\(path)"
    }
}
