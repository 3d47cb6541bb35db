import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// Packs that cannot be written or flushed.
@Suite struct PackFailureTests {
    @Test func nothingInAPackThatWasNotFlushedBecomesAResult() throws {
        let world = try PackWorld()
        let first = try #require(try world.add(PackWorld.bytes(10), 1).result)
        #expect(first.pack.newDirectory != nil)
        first.pack.sync()
        try first.pack.requireDurable()
        #expect(first.pack.newDirectory == nil)
        let second = try #require(try world.add(PackWorld.bytes(10), 2).result)
        let error = StorageError(operation: "syncfs", errno: EIO)
        world.packs.distrust(error)
        // The kernel would tell of the loss only once.
        second.pack.sync()
        #expect(throws: error) { try second.pack.requireDurable() }
        #expect(try world.add(PackWorld.bytes(10), 3).result == nil)
    }

    /// Its results may be in a later batch than the one whose flush has failed.
    @Test func aClosedPackIsNotTrustedEither() throws {
        let world = try PackWorld()
        let size = Int64(ResultLocation.packFences)
        let closed = try #require(try world.add(PackWorld.bytes(10), 1).result)
        _ = try world.add(PackWorld.bytes(10), 2 * size)
        let error = StorageError(operation: "syncfs", errno: EIO)
        world.packs.distrust(error)
        closed.pack.sync()
        #expect(throws: error) { try closed.pack.requireDurable() }
        let later = try #require(try world.add(PackWorld.bytes(10), 3 * size).result)
        later.pack.sync()
        try later.pack.requireDurable()
    }

    @Test func aPackThatSomebodyRemovedTakesNothingMore() throws {
        let world = try PackWorld()
        let result = try #require(try world.add(PackWorld.bytes(10), 1).result)
        try FileManager.default.removeItem(atPath: world.path(0))
        result.pack.sync()
        #expect(throws: StorageError.self) { try result.pack.requireDurable() }
        #expect(try world.add(PackWorld.bytes(10), 2).result == nil)
    }

    /// An entry without bytes would be a result that nobody can read.
    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func whatFindsNoSpaceLeavesNothingInThePack() throws {
        let folder = try TmpfsFolder("packs", "size=512k")
        let world = try PackWorld(in: folder.folder)
        var tasks: [TaskID] = []
        while true {
            let counter = Int64(tasks.count)
            let added = try world.add(PackWorld.bytes(60_000, UInt8(counter)), counter)
            guard added.result != nil else { break }
            tasks.append(added.task)
        }
        #expect(tasks.count > 3)
        let attempts = try world.container.attempts(inPackAt: world.pack(0))
        #expect(attempts?.map(\.task) == tasks)
        for (counter, task) in tasks.enumerated() {
            let bytes = PackWorld.bytes(60_000, UInt8(counter))
            #expect(try world.content(task, Int64(counter)) == bytes)
        }
        // What could be written of the one that did not fit is free again.
        let small = try world.add(PackWorld.bytes(10), 100)
        #expect(small.result != nil)
        try world.container.removePart(at: world.place(small.task, 100))
        try world.container.removePart(at: world.place(tasks[0], 0))
        let late = try world.add(PackWorld.bytes(60_000, 200), 200)
        #expect(late.result != nil)
        #expect(try world.content(late.task, 200) == PackWorld.bytes(60_000, 200))
    }

    @Test func bodiesAreGatheredUpToALimit() throws {
        let world = try PackWorld()
        let size = Int64(Packs.resultBytesMax)
        for _ in 0..<Packs.gatheredBytesMax / size { #expect(world.packs.reserve(size)) }
        #expect(!world.packs.reserve(1))
        world.packs.release(size)
        #expect(!world.packs.reserve(size + 1))
        #expect(world.packs.reserve(size))
    }
}
