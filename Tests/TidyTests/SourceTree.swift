import Foundation

/// The files of this checkout that rules apply to.
enum SourceTree {
    /// A file and its path relative to the root.
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

    /// The folders with targets that others use.
    static let sources = ["Sources", "clients/swift/Sources"]

    /// Returns all files of those folders with one of the extensions.
    static func sourceFiles(_ extensions: String...) throws -> [File] {
        try sources.flatMap { folder in try files(folder, extensions) }
    }

    /// Returns all files beneath `folder` with one of the extensions.
    static func files(_ folder: String, _ extensions: String...) throws -> [File] {
        try files(folder, extensions)
    }

    private static func files(_ folder: String, _ extensions: [String]) throws -> [File] {
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

    /// Returns the names of the folders in a folder.
    static func folders(_ folder: String) throws -> [String] {
        try names(folder).filter {
            let url = root.appending(components: folder, $0)
            return try url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true
        }
    }

    /// Returns the names in a folder.
    static func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .sorted()
    }
}

extension Substring {
    /// The code of a line, without a comment and without the content of string literals.
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
