import Foundation

/// The settings of a campaign, from the environment.
struct ChaosSettings {
    /// The value of `CHAOS_SEED`; always the same under `make test`.
    let seed: UInt64
    /// The value of `CHAOS_MINUTES`.
    let minutes: Double

    static let current: ChaosSettings = {
        let environment = ProcessInfo.processInfo.environment
        let minutes = environment["CHAOS_MINUTES"].flatMap { Double($0) }
        let seed = environment["CHAOS_SEED"].flatMap { UInt64($0) }
        return ChaosSettings(
            seed: seed ?? (minutes == nil ? 1 : UInt64(Date().timeIntervalSince1970)),
            minutes: minutes ?? 1
        )
    }()
}
