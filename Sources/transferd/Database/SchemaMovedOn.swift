/// The schema was changed in a way that this program cannot work with.
struct SchemaMovedOn: Error, CustomStringConvertible {
    /// The newest migration that this program knows.
    let version: Int
    /// The oldest version that may run now.
    let floor: Int

    var description: String {
        """
        the database was migrated to a schema that takes version \(floor), and this is version \
        \(version): start the newer release
        """
    }
}
