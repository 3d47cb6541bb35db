import Testing
import TransferModel

@Suite struct DestinationTests {
    @Test(arguments: [
        "a", "a/b", "..a", "a..", "...", "a/.b", ".hidden", "with space", "é", "a\\b", "C:",
        ".transferd2/x", "x/.transferd/y", "-rf", "~", "%2e%2e", "a/\u{302}b",
        String(repeating: "a", count: 200), "dir/" + String(repeating: "b", count: 200),
        "a.part", "a.0000010000000000.part2", "a.000001000000000.part", "a.000001000000000G.part",
        "0000010000000000.part",
    ])
    func acceptsAFileNameBeneathTheContainer(path: String) {
        #expect(Destination(path: path, overwrite: false)?.path == path)
    }

    @Test(arguments: [
        "", ".", "..", "/", "/etc/passwd", "a/..", "../a", "a/../b", "a/./b", "./a", "a/.", "a//b",
        "a/", "//a", "a\u{0}b", "\u{0}", "a/\u{0}", "a\nb", "a\u{7F}", "\u{1B}[2J",
        ".transferd", ".transferd/x", ".transferd/results/00/x",
        String(repeating: "a", count: 201), "dir/" + String(repeating: "b", count: 201),
        "a.0000010000000000.part", "b/a.7fffffffffffffff.part",
        // Two bytes each: 101 characters are 202 bytes.
        String(repeating: "é", count: 101),
    ])
    func refusesWhatCouldNameAnythingElse(path: String) {
        #expect(Destination(path: path, overwrite: true) == nil)
    }

    @Test func aCombiningMarkDoesNotHideASlash() {
        // As Characters, "/" and the mark are a single one that is not equal to "/".
        #expect(Destination(path: "../\u{302}x", overwrite: false) == nil)
        #expect(Destination(path: "a/../\u{302}x", overwrite: false) == nil)
        #expect(Destination(path: "/\u{302}etc", overwrite: false) == nil)
        #expect(Destination(path: ".transferd/\u{302}x", overwrite: false) == nil)
    }

    @Test func boundsTheWholePath() {
        let component = String(repeating: "c", count: 127)
        let longest = Array(repeating: component, count: 8).joined(separator: "/") + "x"
        #expect(longest.utf8.count == Destination.pathBytesMax)
        #expect(Destination(path: longest, overwrite: false) != nil)
        #expect(Destination(path: longest + "x", overwrite: false) == nil)
    }

    /// Otherwise a task that fails leaves hundreds of folders.
    @Test func boundsTheFoldersAboveAFile() {
        let deepest = Array(repeating: "d", count: Destination.componentsMax).joined(separator: "/")
        #expect(Destination(path: deepest, overwrite: false)?.path == deepest)
        #expect(Destination(path: deepest + "/d", overwrite: false) == nil)
    }

    @Test func thePartFileOfTheLongestNameFitsAFileName() throws {
        let name = String(repeating: "a", count: Destination.componentBytesMax)
        let destination = try #require(Destination(path: name, overwrite: false))
        let part = ResultLocation.partPath(
            of: TaskID(.version7()),
            destination: destination,
            fence: Fence(incarnation: .max, counter: 1)
        )
        #expect(part.utf8.count <= 255)
    }

    @Test func withoutADestinationResultsLieWhereClientsCannotWrite() {
        let path = ResultLocation.partPath(
            of: TaskID(.version7()),
            destination: nil,
            fence: Fence(incarnation: 1, counter: 1)
        )
        #expect(path.hasPrefix(ResultLocation.reservedFolder + "/"))
        #expect(Destination(path: path, overwrite: true) == nil)
    }

    @Test func aResultIsThePartFileThatIsNamedOrHasItsDestination() throws {
        let (task, fence) = (TaskID(.version7()), Fence(incarnation: 1, counter: 1))
        let destination = try #require(Destination(path: "a/b", overwrite: true))
        #expect(ResultLocation.path(of: task, destination: destination, part: nil) == "a/b")
        #expect(
            ResultLocation.path(of: task, destination: nil, part: fence)
                == ResultLocation.partPath(of: task, destination: nil, fence: fence)
        )
        #expect(ResultLocation.path(of: task, destination: nil, part: nil) == nil)
    }
}
