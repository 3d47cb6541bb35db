import Foundation

/// Where the sources are that the tests were built from.
enum SourceFolder {
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path()
}
