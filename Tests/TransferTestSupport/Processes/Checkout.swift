import Foundation

/// The source tree that the tests were built from.
package enum Checkout {
    package static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(components: "..", "..", "..").standardized.path
    package static let migrations = "\(root)/migrations"
}
