import Testing

@testable import transferctl

@Suite struct FileNamesTests {
    @Test func givesNoNameTwice() {
        var names = FileNames()
        let taken = ["a-1.bin", "b"]
        let given = [
            "a.bin", "a.bin", "a.bin", "b", ".hidden", ".hidden", "../x/..", "/etc/passwd",
        ]
        .map { names.claim($0) { taken.contains($0) } }
        #expect(
            given == [
                "a.bin", "a-2.bin", "a-3.bin", "b-1", ".hidden", ".hidden-1", "file", "passwd",
            ]
        )
    }

    @Test func looksForANameBehindTheLastOne() {
        var names = FileNames()
        var looks = 0
        for _ in 0..<1000 {
            _ = names.claim("a") { _ in
                looks += 1
                return false
            }
        }
        #expect(looks == 1000)
    }

    @Test(arguments: [
        ("http://a/b/c.txt?x=/y", "c.txt"), ("http://a/b/#/z", "b"), ("http://a", "file"),
        ("http://a/", "file"), ("http://a/..", "file"),
    ])
    func findsTheNameInAURL(url: String, name: String) {
        #expect(FileNames.name(of: url) == name)
    }
}
