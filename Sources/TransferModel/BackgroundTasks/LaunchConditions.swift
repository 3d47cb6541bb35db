/// What a worker knows of the conditions that requests may have.
package struct LaunchConditions: Equatable, Sendable {
    /// Whether the network can be reached.
    package var hasNetwork: Bool
    /// Whether the whole service has room for work that can wait.
    package var isCapacityIdle: Bool

    package init(hasNetwork: Bool = true, isCapacityIdle: Bool = true) {
        self.hasNetwork = hasNetwork
        self.isCapacityIdle = isCapacityIdle
    }
}
