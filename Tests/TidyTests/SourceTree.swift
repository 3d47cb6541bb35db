import Foundation

/// The files of this checkout that rules are about.
enum SourceTree {
    /// A file and where it is, relative to the root.
    struct File {
        let path: String
        let text: String

        var name: Substring { path.split(separator: "/").last ?? "" }
        var folder: Substring { path.dropLast(name.count + 1) }
        /// The lines with their numbers from 1.
        var lines: [(number: Int, text: Substring)] {
            text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                .map { ($0.offset + 1, $0.element) }
        }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(components: "..", "..").standardized

    /// All files beneath `folder` with one of the extensions.
    static func files(_ folder: String, _ extensions: String...) throws -> [File] {
        let directory = root.appending(path: folder).resolvingSymlinksInPath()
        let names = FileManager.default.enumerator(atPath: directory.path)?.allObjects ?? []
        return try names.compactMap { $0 as? String }.sorted()
            .filter { name in extensions.contains { name.hasSuffix(".\($0)") } }
            .map { name in
                let url = directory.appending(path: name)
                return File(
                    path: "\(folder)/\(name)",
                    text: try String(contentsOf: url, encoding: .utf8)
                )
            }
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    /// The names of the folders in a folder.
    static func folders(_ folder: String) throws -> [String] {
        try names(folder).filter {
            let url = root.appending(components: folder, $0)
            return try url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true
        }
    }

    /// The names in a folder.
    static func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .sorted()
    }
}

extension Substring {
    /// The code of a line: without a comment, and with the content of string literals left out.
    var code: String {
        var result = ""
        var isInLiteral = false
        var previous: Character = " "
        for character in self {
            if character == "\"" && previous != "\\" { isInLiteral.toggle() }
            if !isInLiteral {
                result.append(character)
                if result.hasSuffix("//") { return String(result.dropLast(2)) }
            }
            previous = character
        }
        return result
    }
}
