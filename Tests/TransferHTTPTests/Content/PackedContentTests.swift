import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Results that lie in a pack are served as if each had a file of its own.
@Suite(.postgresSchema) struct PackedContentTests {
    private static func bytes(_ index: Int) -> [UInt8] {
        (0..<40_000 + index).map { UInt8(truncatingIfNeeded: ($0 + index) * 31 >> 3) }
    }

    /// Completes all queued tasks with results in packs.
    private static func complete(
        _ server: APIServer,
        _ packs: Packs,
        in container: Container
    ) async throws -> [TaskID] {
        let claims = try await server.claimAll()
        var ends: [AttemptEnd] = []
        for (index, claim) in claims.enumerated() {
            let place = Container.Place(
                ResultLocation.partPath(of: claim.task, destination: nil, fence: claim.fence),
                tenant: claim.tenant
            )
            try container.prepareDirectory(of: place)
            let packed = bytes(index).withUnsafeBytes {
                packs.add($0, of: claim.task, fence: claim.fence, tenant: claim.tenant, at: place)
            }
            #expect(packed != nil)
            let result = TransferResult(
                httpStatus: 200,
                bytesReceived: Int64(bytes(index).count),
                isLengthVerified: true
            )
            ends.append(
                AttemptEnd(
                    task: claim.task,
                    fence: claim.fence,
                    outcome: .fetched(result, part: claim.fence),
                    bytesReceived: result.bytesReceived
                )
            )
        }
        #expect(try await server.stores.completions.end(ends).count == claims.count)
        return claims.map(\.task)
    }

    @Test func theyAreServedWithRangesAndTagsAndRemoved() async throws {
        try await APIServer.run { server in
            let container = try Container(directory: server.containers)
            let packs = Packs(container)
            let session = try await server.session()
            for _ in 0..<3 { _ = try await server.submit(session) }
            let ids = try await Self.complete(server, packs, in: container)
            var tags: [String] = []
            for (index, id) in ids.enumerated() {
                let answer = try await server.send("GET", "/v1/tasks/\(id)/content")
                #expect(answer.status == 200)
                #expect(answer.body == Self.bytes(index))
                tags.append(try #require(answer.fields["etag"]))
            }
            #expect(Set(tags).count == 3)
            let path = "/v1/tasks/\(ids[1])/content"
            let bytes = Self.bytes(1)
            for (range, part) in [
                ("bytes=0-0", 0..<1), ("bytes=20000-30000", 20_000..<30_001),
                ("bytes=-1", 40_000..<40_001), ("bytes=40000-", 40_000..<40_001),
            ] {
                let answer = try await server.send("GET", path, fields: [("Range", range)])
                #expect(answer.status == 206)
                #expect(answer.body == Array(bytes[part]))
                #expect(
                    answer.fields["content-range"]
                        == "bytes \(part.lowerBound)-\(part.upperBound - 1)/40001"
                )
            }
            let beyond = try await server.send("GET", path, fields: [("Range", "bytes=40001-")])
            #expect(beyond.status == 416)
            // What happens to others in the pack changes nothing of it.
            _ = try await server.submit(session)
            _ = try await Self.complete(server, packs, in: container)
            #expect(try await server.send("DELETE", "/v1/tasks/\(ids[0])").status == 204)
            let same = try await server.send("GET", path, fields: [("If-None-Match", tags[1])])
            #expect(same.status == 304)
            let rest = try await server.send(
                "GET",
                path,
                fields: [("Range", "bytes=40000-"), ("If-Range", tags[1])]
            )
            #expect(rest.status == 206)
            // As an operator may remove it, whose task knows nothing of that.
            let part = try #require(
                try await server.stores.tasks.task(tenant: server.first.id, id: ids[1])?.part
            )
            try container.removePart(
                at: Container.Place(
                    ResultLocation.partPath(of: ids[1], destination: nil, fence: part),
                    tenant: server.first.id
                )
            )
            let gone = try await server.send("GET", path)
            #expect(gone.status == 410)
            #expect(gone.code == .contentGone)
            #expect(try await server.send("GET", "/v1/tasks/\(ids[2])/content").status == 200)
        }
    }
}
