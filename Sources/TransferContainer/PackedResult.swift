package import TransferModel

/// A result that was added to a pack and need not be durable yet.
package struct PackedResult: Sendable {
    /// The pack that it lies in.
    package let pack: Pack
    /// The place of a file of its own, by which it is found.
    package let place: Container.Place
    /// The fence that names it.
    package let fence: Fence
}
