import Foundation
import Glibc
import Testing
import TransferContainer
import TransferTestSupport

/// The removal of all that a tenant has, and of what others have put there.
@Suite(.timeLimit(.minutes(1))) struct FolderRemovalTests {
    private let folder: TestFolder
    private let container: Container
    private let top: String

    init() throws {
        folder = try TestFolder("removal")
        container = try Container(directory: folder.path)
        top = "\(folder.path)/tenant"
        #expect(mkdir(top, 0o750) == 0)
    }

    /// Returns a path whose last name no encoding of text has.
    private func oddPath(_ last: UInt8) -> [CChar] {
        "\(top)/".utf8.map { CChar(bitPattern: $0) } + [CChar(bitPattern: last), 0]
    }

    /// Removes everything, and returns after how many turns.
    private func remove(_ max: Int) throws -> Int {
        var turns = 1
        while try !container.removeSome(of: "tenant", max: max) { turns += 1 }
        return turns
    }

    @Test func namesAreBytes() throws {
        let file = open(oddPath(0xff), O_WRONLY | O_CREAT, 0o600)
        #expect(file >= 0)
        close(file)
        #expect(mkdir(oddPath(0xfe), 0o750) == 0)
        let inside = oddPath(0xfe).dropLast() + "/file".utf8CString
        let other = open(Array(inside), O_WRONLY | O_CREAT, 0o600)
        #expect(other >= 0)
        close(other)
        #expect(try remove(1000) == 1)
        #expect(access(top, F_OK) != 0)
    }

    @Test func noFolderIsTooDeep() throws {
        var path = top
        for _ in 0..<700 {
            path += "/d"
            #expect(mkdir(path, 0o750) == 0)
        }
        try Data([1]).write(to: URL(filePath: "\(path)/file"))
        #expect(try remove(100) > 5)
        #expect(access(top, F_OK) != 0)
    }

    @Test func noLinkIsFollowed() throws {
        try folder.write("text", to: "kept/file")
        #expect(symlink("\(folder.path)/kept", "\(top)/link") == 0)
        #expect(mkfifo("\(top)/pipe", 0o600) == 0)
        #expect(try remove(1000) == 1)
        #expect(access(top, F_OK) != 0)
        #expect(access("\(folder.path)/kept/file", F_OK) == 0)
        // Once more: nothing is there.
        #expect(try remove(1000) == 1)
    }
}
