/// How the database and those that share it are.
package struct Vitals: Sendable {
    /// Registered workers.
    package let workers: Int
    /// The oldest version that may run on the schema; nil for one that holds nothing new.
    package let schemaFloor: Int?
}
