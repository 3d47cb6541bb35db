import Foundation

/// How a campaign is to be, by the environment.
struct ChaosSettings {
    /// `CHAOS_SEED`; of `make test` always the same.
    let seed: UInt64
    /// `CHAOS_MINUTES`.
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
