import Foundation

/// The Python packages that `.ci/setup --test` installs for tests.
package enum TestTools {
    /// The folder of their programs, one of which is `python`.
    package static let folder: String = {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        return "\(cache)/transferd-test/bin"
    }()

    /// An error that says that a program is missing.
    package struct Missing: Error, CustomStringConvertible {
        package let description: String
    }

    /// Returns the path of a program.
    ///
    /// - Throws: ``Missing`` if it is not installed.
    package static func program(_ name: String) throws -> String {
        let path = "\(folder)/\(name)"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Missing(description: "\(path) is missing: run `.ci/setup --test`")
        }
        return path
    }
}
