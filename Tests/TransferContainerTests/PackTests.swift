import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// Small results that lie in one file.
@Suite struct PackTests {
    @Test(arguments: [1, 4095, 4096, 4097, Packs.resultBytesMax])
    func whatWasAddedIsReadAgain(count: Int) throws {
        let world = try PackWorld()
        var tasks: [TaskID] = []
        for seed in 0..<3 {
            let (task, result) = try world.add(PackWorld.bytes(count, UInt8(seed)), Int64(seed))
            #expect(result != nil)
            tasks.append(task)
        }
        for (seed, task) in tasks.enumerated() {
            #expect(try world.content(task, Int64(seed)) == PackWorld.bytes(count, UInt8(seed)))
            #expect(try world.container.size(of: world.place(task, Int64(seed))) == Int64(count))
        }
        let attempts = try #require(try world.container.attempts(inPackAt: world.pack(0)))
        #expect(attempts.map(\.task) == tasks)
        #expect(attempts.map(\.fence) == (0..<3).map { PackWorld.fence($0) })
    }

    @Test func aPartOfAResultIsRead() throws {
        let world = try PackWorld()
        let bytes = PackWorld.bytes(10_000)
        let (task, _) = try world.add(bytes, 1)
        _ = try world.add(PackWorld.bytes(10_000, 9), 2)
        let file = try ContainerFile(world.place(task, 1), in: world.container)
        for (offset, count) in [(0, 1), (9_999, 100), (5_000, 3_000), (10_000, 5), (20_000, 5)] {
            var buffer = [UInt8](repeating: 0, count: count)
            let read = try buffer.withUnsafeMutableBytes {
                try file.read(at: Int64(offset), into: $0)
            }
            #expect(Array(buffer.prefix(read)) == Array(bytes.dropFirst(offset).prefix(count)))
        }
    }

    @Test func whatIsEmptyOrTooLargeHasAFileOfItsOwn() throws {
        let world = try PackWorld()
        #expect(try world.add([], 1).result == nil)
        #expect(try world.add(PackWorld.bytes(Packs.resultBytesMax + 1), 2).result == nil)
        #expect(world.blocks(0) == nil)
    }

    /// The fence alone does not make it a task's result.
    @Test func anotherTaskFindsNothing() throws {
        let world = try PackWorld()
        let (task, _) = try world.add(PackWorld.bytes(10), 1)
        let other = TaskID(.version7())
        #expect(try world.container.size(of: world.place(other, 1)) == nil)
        #expect(try world.container.size(of: world.place(task, 2)) == nil)
        try world.container.removePart(at: world.place(other, 1))
        #expect(try world.content(task, 1) == PackWorld.bytes(10))
    }

    /// Whatever a disk makes of an entry, it harms neither the process nor other results.
    @Test(arguments: [.min, -1, 0, 4096, PackFile.tableEnd + 1, 1 << 40, .max] as [Int64])
    func anEntryThatCannotBeIsNone(offset: Int64) throws {
        let world = try PackWorld()
        let (task, _) = try world.add(PackWorld.bytes(10), 1)
        world.packs.close()
        let file = try FileHandle(forWritingTo: URL(filePath: world.path(0)))
        try file.seek(toOffset: UInt64(PackEntry.bytes + 16))
        try file.write(contentsOf: withUnsafeBytes(of: offset.littleEndian) { Data($0) })
        try file.close()
        #expect(try world.container.size(of: world.place(task, 1)) == nil)
        try world.container.removePart(at: world.place(task, 1))
    }

    @Test func aRemovedResultGivesItsSpaceBack() throws {
        let world = try PackWorld()
        let (first, _) = try world.add(PackWorld.bytes(60_000), 1)
        let (second, _) = try world.add(PackWorld.bytes(60_000, 2), 2)
        let before = try #require(world.blocks(0))
        try world.container.removePart(at: world.place(first, 1))
        let after = try #require(world.blocks(0))
        #expect(before - after >= 60_000 - 4096)
        #expect(try world.container.size(of: world.place(first, 1)) == nil)
        #expect(throws: StorageError(operation: "openat2", errno: ENOENT)) {
            try world.content(first, 1)
        }
        #expect(try world.content(second, 2) == PackWorld.bytes(60_000, 2))
        // What is gone is gone.
        try world.container.removePart(at: world.place(first, 1))
    }

    @Test func thePackGoesWithItsLastResult() throws {
        let world = try PackWorld()
        let (first, _) = try world.add(PackWorld.bytes(10), 1)
        let (second, _) = try world.add(PackWorld.bytes(10), 2)
        world.packs.close()
        try world.container.removePart(at: world.place(first, 1))
        #expect(world.blocks(0) != nil)
        try world.container.removePart(at: world.place(second, 2))
        #expect(world.blocks(0) == nil)
    }

    /// Otherwise what its writer adds next would be in a file without a name.
    @Test func anOpenPackStaysAndGoesWhenItIsClosed() throws {
        let world = try PackWorld()
        let (first, _) = try world.add(PackWorld.bytes(10), 1)
        try world.container.removePart(at: world.place(first, 1))
        try world.container.removePart(at: world.pack(0))
        #expect(world.blocks(0) != nil)
        #expect(try world.container.attempts(inPackAt: world.pack(0)) == nil)
        let (second, _) = try world.add(PackWorld.bytes(20), 2)
        #expect(try world.content(second, 2) == PackWorld.bytes(20))
        try world.container.removePart(at: world.place(second, 2))
        world.packs.close()
        #expect(world.blocks(0) == nil)
    }

    @Test func theResultKeepsItsPackOpen() throws {
        let world = try PackWorld()
        var added = try world.add(PackWorld.bytes(10), 1)
        world.packs.close()
        try world.container.removePart(at: world.place(added.task, 1))
        #expect(world.blocks(0) != nil)
        added.result = nil
        #expect(world.blocks(0) == nil)
    }

    /// Such as one that a killed process has left.
    @Test func anEmptyPackWithoutAWriterIsFound() throws {
        let world = try PackWorld()
        try world.container.prepareDirectory(of: world.place(TaskID(.version7()), 1))
        try Data(count: 100).write(to: URL(filePath: world.path(0)))
        #expect(try world.container.attempts(inPackAt: world.pack(0))?.isEmpty == true)
        try world.container.removePart(at: world.pack(0))
        #expect(world.blocks(0) == nil)
    }

    /// Between its look at the table and the removal, another may have removed the pack, and the
    /// writer made a new one.
    @Test func whoIsLateRemovesNoNewPack() throws {
        let world = try PackWorld()
        let (first, _) = try world.add(PackWorld.bytes(10), 1)
        let late = try #require(
            try PackFile(world.pack(0), in: world.container, isWritable: true)
        )
        try world.container.removePart(at: world.place(first, 1))
        world.packs.close()
        #expect(world.blocks(0) == nil)
        let (second, _) = try world.add(PackWorld.bytes(10), 2)
        world.packs.close()
        try late.removeIfEmpty()
        #expect(try world.content(second, 2) == PackWorld.bytes(10))
    }

    @Test func theLastOfSeveralRemovalsTakesThePack() async throws {
        let world = try PackWorld()
        let tasks = try (0..<400).map { try world.add(PackWorld.bytes(10), Int64($0)).task }
        world.packs.close()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, task) in tasks.enumerated() {
                group.addTask {
                    try world.container.removePart(at: world.place(task, Int64(index)))
                }
            }
            try await group.waitForAll()
        }
        #expect(world.blocks(0) == nil)
    }

    @Test func aPackWithResultsIsNotRemoved() throws {
        let world = try PackWorld()
        let (task, _) = try world.add(PackWorld.bytes(10), 1)
        world.packs.close()
        try world.container.removePart(at: world.pack(0))
        #expect(try world.content(task, 1) == PackWorld.bytes(10))
    }

    /// After a restart, or when two processes believe that they are the same worker.
    @Test func nobodyElseAddsToAPack() throws {
        let world = try PackWorld()
        let (task, _) = try world.add(PackWorld.bytes(10), 1)
        let others = Packs(world.container)
        #expect(try world.add(PackWorld.bytes(10), 2, to: others).result == nil)
        world.packs.close()
        #expect(try world.add(PackWorld.bytes(10), 3, to: others).result == nil)
        #expect(try world.add(PackWorld.bytes(10), 4).result == nil)
        #expect(try world.content(task, 1) == PackWorld.bytes(10))
    }

    @Test func whatComesLateHasAFileOfItsOwn() throws {
        let world = try PackWorld()
        let size = Int64(ResultLocation.packFences)
        for counter in [0, size, 1, size + 1] {
            #expect(try world.add(PackWorld.bytes(10), counter).result != nil)
        }
        #expect(try world.add(PackWorld.bytes(10), 2 * size).result != nil)
        #expect(try world.add(PackWorld.bytes(10), 2).result == nil)
        #expect(try world.add(PackWorld.bytes(10), size + 2).result != nil)
    }

    @Test func idlePacksAreClosed() throws {
        let world = try PackWorld()
        let other = TenantID(UUID())
        _ = try world.add(PackWorld.bytes(10), 1)
        _ = try world.add(PackWorld.bytes(10), 2, of: other)
        world.packs.closeIdle()
        #expect(try world.add(PackWorld.bytes(10), 3).result != nil)
        world.packs.closeIdle()
        #expect(try world.add(PackWorld.bytes(10), 4).result != nil)
        #expect(try world.add(PackWorld.bytes(10), 5, of: other).result == nil)
    }

    @Test func openPacksAreLimited() throws {
        let world = try PackWorld()
        let tenants = (0...Packs.openMax).map { _ in TenantID(UUID()) }
        for (index, tenant) in tenants.enumerated() {
            let result = try world.add(PackWorld.bytes(10), Int64(index), of: tenant).result
            #expect((result != nil) == (index < Packs.openMax))
        }
        // The next fences close all of them in the end.
        let later = Int64(2 * ResultLocation.packFences)
        #expect(try world.add(PackWorld.bytes(10), later, of: tenants[Packs.openMax]).result != nil)
    }

    @Test func zerosInPlaceOfTheBytesAreNoResult() throws {
        let world = try PackWorld()
        let (task, _) = try world.add(PackWorld.bytes(5000), 1)
        let file = try FileHandle(forWritingTo: URL(filePath: world.path(0)))
        try file.seek(toOffset: UInt64(PackFile.tableEnd) + 100)
        try file.write(contentsOf: Data(count: 4096))
        try file.close()
        #expect(throws: StorageError(operation: "openat2", errno: ENOENT)) {
            try world.content(task, 1)
        }
    }

    @Test func aReaderNoticesTheRemoval() throws {
        let world = try PackWorld()
        let (task, _) = try world.add(PackWorld.bytes(5000), 1)
        let file = try ContainerFile(world.place(task, 1), in: world.container)
        #expect(file.isUnchanged)
        try world.container.removePart(at: world.place(task, 1))
        #expect(!file.isUnchanged)
        var buffer = [UInt8](repeating: 1, count: 100)
        #expect(throws: StorageError(operation: "pread", errno: ENOENT)) {
            try buffer.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
        }
    }

    /// Removal leaves zeros where the bytes were.
    @Test func aReaderBesideARemovalNeverGetsZeros() async throws {
        let world = try PackWorld()
        let bytes = [UInt8](repeating: 0xFF, count: Packs.resultBytesMax)
        let tasks = try (0..<300).map { try world.add(bytes, Int64($0)).task }
        let files = try tasks.enumerated().map { index, task in
            try ContainerFile(world.place(task, Int64(index)), in: world.container)
        }
        async let removal: Void = {
            for (index, task) in tasks.enumerated() {
                try world.container.removePart(at: world.place(task, Int64(index)))
            }
        }()
        var refusals = 0
        var buffer = [UInt8](repeating: 0, count: bytes.count)
        for (index, file) in files.enumerated() {
            // Until this one is removed, too.
            while true {
                let count = buffer.withUnsafeMutableBytes { try? file.read(at: 0, into: $0) }
                guard let count else { break }
                try #require(count == bytes.count && buffer == bytes, "result \(index)")
            }
            refusals += 1
        }
        try await removal
        #expect(refusals == tasks.count)
    }

    @Test func theTagIsOfTheResultAndNotOfThePack() throws {
        let world = try PackWorld()
        let (task, _) = try world.add(PackWorld.bytes(10), 1)
        let before = try ContainerFile(world.place(task, 1), in: world.container).tag
        let (other, _) = try world.add(PackWorld.bytes(10), 2)
        #expect(try ContainerFile(world.place(task, 1), in: world.container).tag == before)
        #expect(try ContainerFile(world.place(other, 2), in: world.container).tag != before)
    }
}
