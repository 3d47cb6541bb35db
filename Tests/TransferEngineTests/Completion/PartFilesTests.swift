import Foundation
import Logging
import PollLoop
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// The part files of attempts that have ended.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct PartFilesTests {
    /// A running attempt with a part that the database knows.
    private struct World {
        static let bytesTotal: Int64 = 1000

        let fixture: EngineFixture
        let claim: TaskClaim
        let container: Container
        let place: Container.Place
        let path: String
        let part: PartFile
        let partial: PartialDownload
        let files: PartFiles

        init() async throws {
            fixture = try await EngineFixture()
            _ = try await fixture.submit(fixture.origin.url("/never"))
            let identity = WorkerIdentity(
                incarnation: try await fixture.stores.workers.registerWorker(name: "test")
            )
            claim = try #require(
                try await fixture.stores.queue.claimAny(1, by: identity).first
            )
            container = try Container(directory: fixture.directory)
            place = Container.Place(partOf: claim, fence: claim.fence)
            path = "\(fixture.directory)/\(place.path)"
            try container.prepareDirectory(of: place)
            let part = try PartFile(place, fence: claim.fence, in: container)
            self.part = part
            let bytes = [UInt8](repeating: 1, count: 500)
            try bytes.withUnsafeBytes { try part.write($0) }
            partial = PartialDownload(
                partFence: claim.fence,
                bootID: Boot.id,
                bytesDurable: 0,
                bytesTotal: Self.bytesTotal,
                validator: EntityValidator(stored: #""v1""#)
            )
            try await fixture.stores.parts.recordProgress([
                AttemptProgress(
                    task: claim.task,
                    fence: claim.fence,
                    bytesReceived: 500,
                    bytesExpected: Self.bytesTotal,
                    checkpoint: partial
                )
            ])
            files = PartFiles(
                loop: try PollLoop(name: "parts"),
                store: EngineStores(fixture.stores.database).parts,
                container: container,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        /// The end of the attempt after a failure.
        func end(_ partial: PartialDownload?) -> AttemptEnd {
            AttemptEnd(
                task: claim.task,
                fence: claim.fence,
                outcome: .released,
                bytesReceived: 500,
                partial: partial
            )
        }
    }

    /// The next attempt would go on behind bytes that are lost, and flush them without an error.
    @Test func aPartThatCouldNotBeFlushedIsNotGoneOnWith() async throws {
        let world = try await World()
        try UnflushableFile.make(at: world.path)
        await world.files.settle([(world.claim.task, .file(world.part))])
        #expect(try world.container.size(of: world.place) == nil)
    }

    @Test func norIsThatOfAnAttemptWhoseEndIsNotStoredYet() async throws {
        let world = try await World()
        try UnflushableFile.make(at: world.path)
        let end = await world.files.keeping(.file(world.part), world.end(world.partial))
        #expect(end.partial == nil)
        #expect(end.abandoned == world.claim.fence)
        #expect(try world.container.size(of: world.place) == nil)
    }

    /// A database without space could not store the end.
    @Test func aPartOfNoUseGivesItsSpaceBackAtOnce() async throws {
        let world = try await World()
        let kept = await world.files.keeping(.file(world.part), world.end(world.partial))
        #expect(kept.partial?.bytesDurable == 500)
        #expect(try world.container.size(of: world.place) == 500)
        let end = await world.files.keeping(.file(world.part), world.end(nil))
        #expect(end.abandoned == world.claim.fence)
        #expect(try world.container.size(of: world.place) == 0)
    }

    @Test func aPartThatTheNextAttemptHasStaysAsItIs() async throws {
        let world = try await World()
        world.part.unlock()
        let next = try #require(
            try PartFile(goingOnWith: world.partial, at: world.place, in: world.container)
        )
        _ = await world.files.keeping(.file(world.part), world.end(nil))
        #expect(try world.container.size(of: world.place) == 500)
        withExtendedLifetime(next) {}
    }
}
