import Foundation
import Glibc
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Bodies of a tenant that may keep so many bytes.
extension BodyTests {
    @Test func aBodyThatItsTenantMayNotKeepIsRefusedWithTheLimit() async throws {
        try await Self.run { server, path, id in
            try await Self.limit(server, Int64(Self.total) - 1)
            let refused = try await Self.put(server, path)
            #expect(refused.status == 429)
            let problem = try refused.json(ProblemDetails.self)
            #expect(problem.code == .quotaExceeded)
            #expect(problem.limit == "stored_bytes")
            #expect(problem.maximum == Int64(Self.total) - 1)
            #expect(refused.fields["upload-offset"] == "0")
            // A part of it counts with what is to follow.
            #expect(try await Self.put(server, path, 0..<1000).status == 429)
            try await Self.limit(server, Int64(Self.total))
            #expect(try await Self.put(server, path).status == 200)
            let tenant = try await server.send("GET", "/v1/tenant").json(TenantDocument.self)
            #expect(tenant.storedBytes == Int64(Self.total))
            #expect(tenant.storedBytesMax == Int64(Self.total))
        }
    }

    @Test func aBodyThatWasThrownAwayTakesNoRoom() async throws {
        try await Self.run { server, path, _ in
            try await Self.limit(server, Int64(Self.total))
            let digest = Data(count: 32).base64EncodedString()
            let refused = try await Self.put(
                server,
                path,
                nil,
                [("Repr-Digest", "sha-256=:\(digest):")]
            )
            #expect(refused.code == .digestMismatch)
            #expect(try await Self.storedBytes(server) == 0)
        }
    }

    @Test func aBodyThatIsRefusedTakesThePlaceOfNone() async throws {
        try await Self.run { server, path, _ in
            try await Self.limit(server, 1000)
            try await Self.putHalf(server, path)
            let refused = try await Self.put(server, path)
            #expect(refused.status == 429)
            try await Self.checkHalf(server, path, after: refused)
        }
    }

    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func aBodyForWhichTheDiskHasNoRoomTakesThePlaceOfNone() async throws {
        try await Self.run { server, path, _ in
            let folder = try Self.mountFolder(server)
            defer { umount2(folder, Int32(MNT_DETACH)) }
            try await Self.putHalf(server, path)
            try Data(count: 9 * Self.total / 2).write(to: URL(filePath: "\(folder)/other"))
            let refused = try await Self.put(server, path)
            #expect(refused.status == 507)
            #expect(refused.code == .storageFull)
            try await Self.checkHalf(server, path, after: refused)
        }
    }

    /// Runs `body` for an upload on a disk where its tenant has room for this one, and not for two.
    static func runWithRoomForOneBody(
        _ body: @Sendable (APIServer, String, TaskID) async throws -> Void
    ) async throws {
        try await Self.run { server, path, id in
            let folder = try Self.mountFolder(server)
            defer { umount2(folder, Int32(MNT_DETACH)) }
            let session = try await server.session()
            for _ in 0..<2 {
                let other = try await server.submit(session, Self.task)
                #expect(try await Self.put(server, "/v1/tasks/\(other)").status == 200)
            }
            try Data(count: 7 * Self.total / 8).write(to: URL(filePath: "\(folder)/other"))
            try await body(server, path, id)
        }
    }

    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func aBodyThatStartsOverTakesItsOwnPlace() async throws {
        try await Self.runWithRoomForOneBody { server, path, id in
            let first = try await Self.put(server, path, 0..<Self.total - 1)
            #expect(first.status == 202)
            let whole = try await Self.put(server, path)
            #expect(whole.status == 200)
            #expect(try Self.staged(server, id) == Self.bytes)
        }
    }

    /// Brings 100 bytes of 200.
    private static func putHalf(_ server: APIServer, _ path: String) async throws {
        let first = try await server.send(
            "PUT",
            "\(path)/body",
            bytes: Array(bytes[..<100]),
            fields: [
                ("Content-Range", "bytes 0-99/200"),
                ("Content-Type", "application/octet-stream"),
            ]
        )
        #expect(first.status == 202)
    }

    /// Checks that they are kept after a request that was refused.
    private static func checkHalf(
        _ server: APIServer,
        _ path: String,
        after refused: HTTPClient.Answer
    ) async throws {
        #expect(refused.fields["upload-offset"] == "100")
        let kept = try await server.send("GET", "\(path)/body")
        #expect(kept.fields["upload-offset"] == "100")
        #expect(try await storedBytes(server) == 200)
    }

    @Test func aBodyOfUnknownLengthTakesTheRoomThatThereIs() async throws {
        try await Self.run { server, path, _ in
            try await Self.limit(server, 10)
            let refused = try await Self.putInChunks(server, path, "b\r\nhello world\r\n")
            #expect(refused.status == 429)
            #expect(try await Self.putInChunks(server, path, "5\r\nhello\r\n").status == 200)
            #expect(try await Self.storedBytes(server) == 5)
        }
    }

    @Test func aTenantHasThreeTimesWhatIsFree() {
        let space = FileSystemSpace(free: 100, total: 1000)
        #expect(space.mayTake(0, own: 300))
        #expect(!space.mayTake(0, own: 303))
        #expect(space.mayTake(25, own: 200))
        #expect(!space.mayTake(30, own: 200))
        #expect(!space.mayTake(101, own: 0))
        // All the used space may be its own.
        #expect(!space.mayTake(0))
        #expect(FileSystemSpace(free: 300, total: 1000).mayTake(10))
    }

    @Test func onlyATenantThatCanMakeRoomIsToldOfItsPart() {
        let space = FileSystemSpace(free: 120, total: 1000)
        #expect(space.obstacle(to: 90, own: 0) == nil)
        #expect(space.obstacle(to: 90, own: 300) == .tenantsPart)
        #expect(space.obstacle(to: 300, own: 300) == .tenantsPart)
        // There is space for it, but without a part of it for newcomers.
        #expect(space.obstacle(to: 100, own: 0) == .fullDisk)
        #expect(space.obstacle(to: 100, own: 10) == .fullDisk)
        #expect(space.obstacle(to: 421, own: 300) == .fullDisk)
    }

    private static func limit(_ server: APIServer, _ bytes: Int64) async throws {
        _ = try await server.stores.tenants.limitTenant(
            named: "first",
            changes: TenantLimitChanges(storedBytesMax: .some(bytes))
        )
    }

    private static func storedBytes(_ server: APIServer) async throws -> Int64? {
        try await server.send("GET", "/v1/tenant").json(TenantDocument.self).storedBytes
    }
}
