/// The bytes that a tenant keeps, and those that are under way to it.
package struct TenantStorage: Equatable, Sendable {
    /// The bytes of the results of its completed tasks, of bodies brought for uploads, and of kept
    /// parts.
    package let storedBytes: Int64
    /// The bytes that its running tasks have to move, as far as is known.
    package let inFlightBytes: Int64

    package init(storedBytes: Int64, inFlightBytes: Int64) {
        self.storedBytes = storedBytes
        self.inFlightBytes = inFlightBytes
    }
}
