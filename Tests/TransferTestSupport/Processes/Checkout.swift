import Foundation

/// The source tree that the tests were built from.
package enum Checkout {
    /// The path of the root of the sources.
    package static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(components: "..", "..", "..").standardized.path
    /// The path of the migrations.
    package static let migrations = "\(root)/migrations"
    /// The path of the files of the page.
    package static let page = "\(root)/page"
}
