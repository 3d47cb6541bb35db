/// The numbers of pauses, for those who watch the service.
package struct PauseCounts: Equatable, Sendable {
    /// Whether nothing begins at all.
    package var isEverythingPaused = false
    /// The number of paused tenants.
    package var tenants = 0
    /// The number of paused hosts, each counted for each tenant that it is paused for.
    package var hosts = 0

    package init(isEverythingPaused: Bool = false, tenants: Int = 0, hosts: Int = 0) {
        self.isEverythingPaused = isEverythingPaused
        self.tenants = tenants
        self.hosts = hosts
    }
}
