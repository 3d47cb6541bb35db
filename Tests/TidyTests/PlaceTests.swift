import Testing

/// Rules for where a reader finds a type.
@Suite struct PlaceTests {
    /// The maximum number of files in a folder; a folder with more is divided.
    private static let filesMax = 20
    /// The maximum number of files of a target that have a part of one type.
    private static let filesPerTypeMax = 3

    /// A type that only one file knows may live beside its user.
    @Test func aTypeIsInAFileOfItsName() throws {
        for file in try SourceTree.sourceFiles("swift") {
            let name = file.name.prefix { $0 != "." && $0 != "+" }
            for line in file.lines {
                guard let type = Self.type(line.text), type != name else { continue }
                Issue.record("\(file.path):\(line.number): move \(type) to a file of its name")
            }
        }
    }

    @Test func aTypeIsInAFewFiles() throws {
        for sources in SourceTree.sources {
            for target in try SourceTree.names(sources) {
                var files: [Substring: [Substring]] = [:]
                for file in try SourceTree.files("\(sources)/\(target)", "swift") {
                    for type in file.types { files[type, default: []].append(file.name) }
                }
                for (type, files) in files where files.count > Self.filesPerTypeMax {
                    Issue.record("\(target) has parts of \(type) in \(files): two things in one?")
                }
            }
        }
    }

    @Test func aFolderFitsOnAScreen() throws {
        var counts: [Substring: Int] = [:]
        for folder in SourceTree.sources + ["Tests"] {
            for file in try SourceTree.files(folder, "swift") {
                counts[file.folder, default: 0] += 1
            }
        }
        for (folder, count) in counts {
            #expect(count <= Self.filesMax, "\(folder) has \(count) files: give it rooms")
        }
    }

    @Test func whatDocumentsNameIsThere() throws {
        for file in try SourceTree.files("docs", "md") {
            let path = #/\b(?:clients\/swift\/)?(?:Sources|Tests|migrations)\/[\w\/+.]*\w/#
            for match in file.text.matches(of: path) {
                #expect(SourceTree.exists(String(match.output)), "\(file.path): \(match.output)")
            }
        }
    }

    /// Types of others, and those within types, are not looked for.
    @Test func whatDocumentsNameOfATypeIsThere() throws {
        var parts: [Substring: [SourceTree.File]] = [:]
        for file in try SourceTree.sourceFiles("swift") + SourceTree.files("Tests", "swift") {
            for type in file.types { parts[type, default: []].append(file) }
        }
        for file in try SourceTree.files("docs", "md") {
            for match in file.text.matches(of: #/`([A-Z]\w*)\.(\w+)[`(]/#) {
                let (name, type, member) = match.output
                guard member != "swift", let parts = parts[type] else { continue }
                let isThere = try Regex("\\b(?:func|var|let|case|struct|enum) \(member)\\b")
                #expect(parts.contains { $0.text.contains(isThere) }, "\(file.path): \(name)")
            }
        }
    }

    @Test func eachRoomIsOnTheMap() throws {
        let map = try #require(
            try SourceTree.files("docs", "md").first { $0.name == "ARCHITECTURE.md" }
        )
        for sources in SourceTree.sources {
            for target in try SourceTree.names(sources) {
                let row = map.lines.first {
                    $0.text.hasPrefix("| `") && $0.text.contains("`\(target)`")
                }
                let text = try #require(row, "\(target) is not on the map").text
                let rooms = text.split(separator: "|").last?.split { ", ".contains($0) } ?? []
                let folders = try SourceTree.folders("\(sources)/\(target)")
                    .filter { $0 != "include" && !$0.hasSuffix(".docc") }
                #expect(Set(rooms.map(String.init)) == Set(folders), "the rooms of \(target)")
            }
        }
    }

    /// Returns the name of the type that an unindented line declares beyond its file.
    private static func type(_ line: Substring) -> Substring? {
        let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol"]
        let modifiers: Set<Substring> = ["package", "public", "final", "indirect"]
        var words = line.split { $0 == " " || $0 == ":" || $0 == "<" }[...]
        guard line.first != " " else { return nil }
        while let word = words.first, word.hasPrefix("@") || modifiers.contains(word) {
            words = words.dropFirst()
        }
        guard words.count > 1, let kind = words.first, kinds.contains(kind) else { return nil }
        return words.dropFirst().first
    }
}
