import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// Files whose device is not that of their directory.
@Suite struct OverlayTests {
    /// With layers on several file systems, an overlay tells the device of a layer of each file.
    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func filesOfAnOverlayAreWrittenAndFlushed() throws {
        let lower = try TestFolder("lower")
        let upper = try TmpfsFolder("upper", "")
        let merged = try TestFolder("merged")
        #expect(mkdir("\(upper.path)/files", 0o755) == 0)
        #expect(mkdir("\(upper.path)/work", 0o755) == 0)
        let layers =
            "lowerdir=\(lower.path),upperdir=\(upper.path)/files,workdir=\(upper.path)/work"
        guard mount("overlay", merged.path, "overlay", 0, "\(layers),xino=off") == 0 else {
            try Test.cancel("this system has no overlays: errno \(errno)")
        }
        defer { umount2(merged.path, Int32(MNT_DETACH)) }

        let world = try PackWorld(in: merged)
        let (task, result) = try world.add([1, 2, 3], 1)
        #expect(result != nil)
        let place = Container.Place("folder/part", tenant: world.tenant)
        try world.container.prepareDirectory(of: place)
        let part = try PartFile(place, fence: Fence(rawValue: 1), in: world.container)
        try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try part.write($0) }
        try part.sync()
        try world.container.syncAll()
        #expect(try world.content(task, 1) == [1, 2, 3])
        #expect(try world.container.size(of: place) == 10)

        var (file, directory) = (stat(), stat())
        #expect(stat("\(merged.path)/containers/\(place.path)", &file) == 0)
        #expect(stat("\(merged.path)/containers/\(place.directory)", &directory) == 0)
        #expect(file.st_dev != directory.st_dev, "else this test shows nothing")
        world.packs.close()
    }

    /// A file that could not be flushed is not left behind, because nobody looks for it.
    @Test func aFileThatCannotBeFlushedGoes() throws {
        let folder = try TestFolder("flushed")
        let container = try Container(directory: folder.path)
        let place = Container.Place("part", tenant: TenantID(UUID()))
        try container.prepareDirectory(of: place)
        close(try container.createPart(at: place))
        #expect(try container.size(of: place) == 0)
        // On another file system than its directory.
        let other = open("/proc/self/stat", O_RDONLY | O_CLOEXEC)
        #expect(throws: StorageError(operation: "fstat", errno: ESTALE)) {
            _ = try container.notedNew(other, at: place)
        }
        #expect(try container.size(of: place) == nil)
    }
}
