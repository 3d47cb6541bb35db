import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// The final names of files.
@Suite struct RenameTests {
    /// Whoever repeats it does not know whether it was done before.
    @Test func aRepeatedRenameFindsItsFileOnlyIfThatIsWhole() throws {
        let folder = try TestFolder("rename")
        let container = try Container(directory: folder.path)
        let place = Container.Place("part", tenant: TenantID(UUID()))
        try container.prepareDirectory(of: place)
        let part = try PartFile(place, fence: Fence(rawValue: 1), in: container)
        let bytes = [UInt8](repeating: 1, count: 100)
        try bytes.withUnsafeBytes { try part.write($0) }
        let identity = try part.identity()
        func outcome() throws -> Container.Renaming {
            try container.rename(
                place,
                to: "file",
                overwrite: false,
                identity: identity,
                bytes: 100
            )
        }
        for _ in 0..<2 { #expect(try outcome() == .done) }
        #expect(truncate("\(folder.path)/\(place.directory)/file", 50) == 0)
        #expect(try outcome() == .partLost)
    }
}
