import Glibc
import Testing
@testable import TransferContainer
import TransferTestSupport

@Suite struct DurableDirectoryTests {
    /// Who created it may have failed before it was durable.
    ///
    /// The directories of proc(5) exist, and refuse to be made durable.
    @Test func aDirectoryOfSomebodyElseIsMadeDurableToo() throws {
        let container = try Container(directory: "/proc")
        for _ in 0..<2 {
            #expect(throws: StorageError(operation: "fsync", errno: EINVAL)) {
                try container.createDirectories("sys")
            }
            #expect(!container.isDurable("sys", isNew: false))
        }
    }

    @Test func whatIsDurableIsRememberedUntilItIsReplaced() throws {
        let folder = try TestFolder("durable")
        let container = try Container(directory: folder.path)
        try container.createDirectories("a/b")
        #expect(container.isDurable("a", isNew: false))
        #expect(container.isDurable("a/b", isNew: false))
        #expect(!container.isDurable("a/b", isNew: true))
        #expect(!container.isDurable("a/b", isNew: false))
        withExtendedLifetime(folder) {}
    }
}
