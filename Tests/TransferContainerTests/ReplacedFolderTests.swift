import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// Folders of a container that others have replaced.
@Suite struct ReplacedFolderTests {
    private let directory: TestFolder
    private let container: Container
    private let place: Container.Place

    init() throws {
        directory = try TestFolder("replaced")
        container = try Container(directory: directory.path)
        place = Container.Place("folder/part", tenant: TenantID(UUID()))
        try container.prepareDirectory(of: place)
    }

    /// Where the folder lies that holds the part.
    private var folder: String { "\(directory.path)/\(place.directory)" }

    private func writePart() throws {
        let part = try PartFile(place, fence: Fence(rawValue: 1), in: container)
        try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try part.write($0) }
    }

    @Test(arguments: ["a link", "a file"])
    func nothingIsThereToRemove(replacement: String) throws {
        try writePart()
        #expect(rename(folder, "\(folder).old") == 0)
        if replacement == "a link" {
            #expect(symlink("\(folder).old", folder) == 0)
        } else {
            try Data().write(to: URL(filePath: folder))
        }
        try container.removePart(at: place)
        #expect(try container.size(of: place) == nil)
        // What the link leads to is not touched.
        #expect(FileManager.default.fileExists(atPath: "\(folder).old/part"))
    }

    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func whatIsOnAMountIsDurableToo() async throws {
        let disk = try await Ext4Disk.forTest(size: 24 << 20)
        #expect(mount(disk.path, folder, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(folder, Int32(MNT_DETACH)) }
        try writePart()
        try container.syncAll()
        let left = try await Ext4Disk(asLeftBy: disk)
        let bytes = try Data(contentsOf: URL(filePath: "\(left.path)/part"))
        #expect(bytes == Data(repeating: 1, count: 10))
    }
}
