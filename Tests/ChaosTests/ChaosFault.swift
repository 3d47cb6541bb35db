/// Something that goes wrong, and for how many steps.
struct ChaosFault: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, CaseIterable, Sendable {
        case killService
        /// All processes of the service at once.
        case killFleet
        case terminateService
        /// SIGSTOP for longer than several leases.
        case freezeService
        case killDatabase
        /// An immediate stop, as by pg_ctl.
        case stopDatabase
        case cutDatabase
        case slowDatabase
        case cutOrigin
        case slowOrigin
        case fullDisk
        case readOnlyDisk
        case fewDescriptors
        case receiverAway

        /// Whether a task may fail for it although its origin is well: an attempt is not repeated for
        /// ever, and not at all where the disk refuses.
        var spoilsTasks: Bool {
            switch self {
            case .cutOrigin, .slowOrigin, .fullDisk, .readOnlyDisk, .fewDescriptors: true
            default: false
            }
        }
    }

    let kind: Kind
    /// The number of the service that it hits, where it hits one.
    let victim: Int
    /// How many steps it lasts.
    let span: Int

    var description: String { "\(kind.rawValue)(\(victim)) for \(span)" }
}
