import Foundation
import TransferStore
import TransferTestSupport

/// The migrations of this version with one more, as a later version has it.
struct LaterMigration {
    let name: String
    let migrator: Migrator

    /// Adds a migration that does `up`.
    init(_ up: String) throws {
        let folder = try TestFolder("migrations")
        let all = "\(folder.path)/all"
        try FileManager.default.copyItem(atPath: Checkout.migrations, toPath: all)
        let number = String(format: "%04d", try StoreFixture.migrator().version + 1)
        name = "\(number)_later"
        try folder.write(up, to: "all/\(name).up.sql")
        try folder.write("SELECT 1", to: "all/\(name).down.sql")
        migrator = try StoreFixture.migrator(folder: all)
    }
}
