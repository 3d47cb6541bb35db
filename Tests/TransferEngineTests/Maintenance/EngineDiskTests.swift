import Dispatch
import PollLoop
import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferTestSupport

/// Work that waits for the disk waits on separate threads.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineDiskTests {
    private static let body = OriginBody.random(seed: 5, size: 20_000)

    /// A pool for the disk, all of whose threads hang until they are released.
    private final class HungDisk: Sendable {
        let pool: BlockingPool<TenantID>
        private let group = DispatchGroup()

        init() throws {
            pool = try BlockingPool(name: "disk-test", threadsMax: 1)
            group.enter()
            pool.run(for: TenantID(UUID())) { [group] in group.wait() }
        }

        func letGo() { group.leave() }
    }

    /// New folders are made durable one by one; meanwhile transfers into existing folders continue.
    @Test func newFoldersHoldUpNoOtherTransfer() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let disk = try HungDisk()
        try await fixture.withEngine(disk: disk.pool) { _ in
            var deep: [TaskID] = []
            for number in 0..<5 {
                deep.append(
                    try await fixture.submit(fixture.origin.url("/file")) {
                        let path = "new/\(number)/a/b/c/file"
                        $0.destination = Destination(path: path, overwrite: false)
                    }
                )
            }
            try await eventually("they wait for the disk") { disk.pool.load.waiting == 5 }
            #expect(fixture.origin.log.now.requests(at: "/file").isEmpty)
            #expect(fixture.files().isEmpty)
            disk.letGo()
            try await fixture.expectCompletion(deep)
        }
        #expect(fixture.files().count == 5)
    }

    /// Unless they must replace nothing: then somebody has to look whether there is a file.
    @Test func filesInFoldersThatAreThereNeedNoOtherThread() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let disk = try HungDisk()
        disk.letGo()
        try await fixture.withEngine(disk: disk.pool) { _ in
            let first = try await fixture.submit(fixture.origin.url("/file")) {
                $0.destination = Destination(path: "folder/first", overwrite: true)
            }
            try await fixture.expectCompletion([first])
            // From now on the disk's threads complete no request.
            let group = DispatchGroup()
            group.enter()
            disk.pool.run(for: fixture.tenant) { group.wait() }
            defer { group.leave() }
            let second = try await fixture.submit(fixture.origin.url("/file")) {
                $0.destination = Destination(path: "folder/second", overwrite: true)
            }
            try await fixture.expectCompletion([second])
        }
    }

    /// A folder that somebody has removed is made again.
    @Test func aFolderThatIsGoneIsMadeAgain() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        try await fixture.withEngine { _ in
            let first = try await fixture.submit(fixture.origin.url("/file")) {
                $0.destination = Destination(path: "folder/first", overwrite: false)
            }
            try await fixture.expectCompletion([first])
            try FileManager.default.removeItem(atPath: "\(fixture.container)/folder")
            let second = try await fixture.submit(fixture.origin.url("/file")) {
                $0.destination = Destination(path: "folder/second", overwrite: false)
            }
            try await fixture.expectCompletion([second])
        }
    }
}
