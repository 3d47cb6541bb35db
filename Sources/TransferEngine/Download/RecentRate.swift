/// The recent rate of an attempt: its bytes over the last two to four seconds.
///
/// It is a pure value computed from the bytes moved so far and the time. A standstill shows after
/// four seconds.
struct RecentRate {
    private struct Mark {
        let bytes: Int64
        let at: ContinuousClock.Instant
    }

    private static let window: Duration = .seconds(2)

    private var older: Mark
    private var newer: Mark
    private var last: Int64
    /// The rate in bytes a second; 0 until something has been measured.
    private(set) var value: Int64 = 0

    init(_ bytes: Int64, at now: ContinuousClock.Instant) {
        older = Mark(bytes: bytes, at: now)
        newer = older
        last = bytes
    }

    mutating func note(_ bytes: Int64, at now: ContinuousClock.Instant) {
        // Fewer bytes than before: the attempt started over.
        guard bytes >= last else {
            self = RecentRate(bytes, at: now)
            return
        }
        last = bytes
        let seconds = (now - older.at) / .seconds(1)
        if seconds > 0 { value = Int64(Double(bytes - older.bytes) / seconds) }
        guard now - newer.at >= Self.window else { return }
        older = newer
        newer = Mark(bytes: bytes, at: now)
    }
}
