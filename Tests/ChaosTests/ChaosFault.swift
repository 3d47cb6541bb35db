/// A fault, and the number of steps that it lasts.
struct ChaosFault: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, CaseIterable, Sendable {
        case killService
        /// A kill of all processes of the service at once.
        case killFleet
        case terminateService
        /// A SIGSTOP for longer than several leases.
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

        /// Whether a task may fail because of it although its origin is well.
        ///
        /// An attempt is not repeated forever, and not at all when the disk refuses.
        var spoilsTasks: Bool {
            switch self {
            case .cutOrigin, .slowOrigin, .fullDisk, .readOnlyDisk, .fewDescriptors: true
            default: false
            }
        }
    }

    let kind: Kind
    /// The number of the service that it affects, if it affects a single one.
    let victim: Int
    /// The number of steps that it lasts.
    let span: Int

    var description: String { "\(kind.rawValue)(\(victim)) for \(span)" }
}
