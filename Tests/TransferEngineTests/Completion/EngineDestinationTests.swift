import Foundation
import Testing
import TransferContainer
import TransferEngine
import TransferModel
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineDestinationTests {
    private static let body = OriginBody.random(seed: 11, size: 5000)
    private static let old = Array("old".utf8)

    private func download(
        to path: String,
        overwrite: Bool = false,
        _ fixture: EngineFixture
    ) async throws -> TransferTask {
        let destination = try #require(Destination(path: path, overwrite: overwrite))
        return try await fixture.download(.response(body: Self.body)) {
            $0.destination = destination
        }
    }

    @Test func storesAFileWhereTheClientWantsIt() async throws {
        let fixture = try await EngineFixture()
        // The mark combines with the preceding slash: one Character, two components.
        for path in ["a", "deep/er/still", "with space/é", "b/\u{302}c", "..d"] {
            let task = try await download(to: path, fixture)
            #expect(task.state == .completed, "\(path)")
            #expect(try fixture.content(path) == Self.body.bytes)
        }
        try await fixture.expectNoParts()
    }

    @Test func withoutLeaveAnExistingFileStaysAsItIs() async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.old, at: "a/b")
        // The second time the folder is known.
        for _ in 0..<2 {
            let task = try await download(to: "a/b", fixture)
            #expect(task.failure?.code == .destinationCollision)
            #expect(task.failure?.message.contains("a/b") == true)
        }
        // Told before any byte is fetched.
        #expect(fixture.origin.log.now.requests.isEmpty)
        #expect(try fixture.content("a/b") == Self.old)
        try await fixture.expectNoParts()
    }

    @Test func withLeaveAnExistingFileIsReplaced() async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.old, at: "a/b")
        let task = try await download(to: "a/b", overwrite: true, fixture)
        #expect(task.state == .completed)
        #expect(try fixture.content("a/b") == Self.body.bytes)
        try await fixture.expectNoParts()
    }

    @Test func aResultNamesItsFileWhateverComesInItsPlace() async throws {
        let fixture = try await EngineFixture()
        func identity() throws -> FileIdentity? {
            try ContainerFile(
                Container.Place("a", tenant: fixture.tenant),
                in: Container(directory: fixture.directory)
            ).identity()
        }
        let first = try await download(to: "a", overwrite: true, fixture)
        let file = try #require(first.result?.file)
        #expect(try identity() == file)
        let second = try await download(to: "a", overwrite: true, fixture)
        #expect(try identity() == second.result?.file)
        #expect(try await fixture.task(first.id).result?.file == file)
        #expect(second.result?.file != file)
        let unnamed = try await fixture.download(.response(body: Self.body))
        #expect(unnamed.state == .completed)
        #expect(unnamed.result?.file == nil)
    }

    @Test func readersSeeTheOldFileUntilTheNewOneIsWhole() async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.old, at: "a")
        let gate = OriginGate()
        fixture.origin.when("/file", .gated(Self.body, after: 4000, gate))
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.destination = Destination(path: "a", overwrite: true)
        }
        try await fixture.withEngine { _ in
            await fixture.origin.log.sent(4000, at: "/file")
            let before = try fixture.content("a")
            #expect(before == Self.old)
            gate.open()
            try await fixture.expectCompletion([id])
        }
        #expect(try fixture.content("a") == Self.body.bytes)
    }

    @Test(arguments: [true, false])
    func aDirectoryIsNotReplaced(overwrite: Bool) async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.old, at: "a/b/c")
        let task = try await download(to: "a/b", overwrite: overwrite, fixture)
        #expect(task.state == .failed)
        #expect(task.failure?.domain == .storage)
        #expect(try fixture.content("a/b/c") == Self.old)
        try await fixture.expectNoParts()
    }

    @Test func aFileIsNoDirectory() async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.old, at: "a")
        let task = try await download(to: "a/b", overwrite: true, fixture)
        #expect(task.failure?.code == .destinationNotWritable)
        #expect(try fixture.content("a") == Self.old)
    }

    @Test(arguments: ["link/x", "link/\u{302}x", "a/link/x"])
    func aPlantedLinkLeadsNowhere(path: String) async throws {
        let fixture = try await EngineFixture()
        let outside = "\(fixture.directory)/outside"
        try FileManager.default.createDirectory(
            atPath: outside,
            withIntermediateDirectories: true
        )
        try fixture.place(Self.old, at: "a/file")
        for link in ["link", "a/link"] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(fixture.container)/\(link)",
                withDestinationPath: outside
            )
        }
        let task = try await download(to: path, overwrite: true, fixture)
        #expect(task.failure?.code == .destinationNotWritable)
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
    }

    @Test func aLinkInThePlaceOfTheFileIsReplacedAndNotFollowed() async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.old, at: "target")
        try FileManager.default.createSymbolicLink(
            atPath: "\(fixture.container)/a",
            withDestinationPath: "\(fixture.container)/target"
        )
        let task = try await download(to: "a", overwrite: true, fixture)
        #expect(task.state == .completed)
        #expect(try fixture.content("target") == Self.old)
        #expect(try fixture.content("a") == Self.body.bytes)
    }
}
