package import Foundation

/// A process of the service that accepts connections, as others have to know it.
package struct Listener: Sendable, Equatable {
    /// Names the process.
    package let id: UUID
    /// Names the machine, as far as its processes share their loopback addresses.
    package let machine: String
    /// The addresses at which it may be reached, 4 or 16 bytes each.
    package let addresses: [[UInt8]]
    package let port: UInt16

    package init(id: UUID, machine: String, addresses: [[UInt8]], port: UInt16) {
        self.id = id
        self.machine = machine
        self.addresses = addresses
        self.port = port
    }
}
