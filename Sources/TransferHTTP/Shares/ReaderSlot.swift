import TransferModel

/// The right to wait, given back when nothing references it any more, also when the answer that
/// holds it is never sent.
final class ReaderSlot: Sendable {
    private let tenant: TenantID
    private let slots: ReaderSlots

    init(tenant: TenantID, slots: ReaderSlots) {
        self.tenant = tenant
        self.slots = slots
    }

    deinit { slots.giveBack(for: tenant) }
}
